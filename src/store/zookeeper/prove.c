/* prove.c - PROVE: is a place held?
 *
 *     barrier + listing --> the rule of every grant, hf_sum_judge(), for that place
 *
 * The barrier is a write that a quorum takes and that changes nothing: what is listed behind
 * it was so when the quorum took it, or later.
 */
#include "store/zookeeper/inner.h"

#include <assert.h>
#include <stdlib.h>

enum { BARRIER }; /* call[] */

static void prove_answer(struct hf_zk *zk, struct hf_zk_task *task, bool held)
{
    hf_zk_answer_done(zk, task, held ? 0 : HF_ZK_NO_NODE, HF_ELOST, "check");
}

/* ---- Anybody's, by its token -------------------------------------------------------------- */

static void on_gathered_to_prove(struct hf_zk *zk, struct hf_zk_task *task,
                                 const struct hf_zk_items *items)
{
    struct hf_sum     ahead = { 0 };
    size_t            count, me = 0;
    struct hf_ticket *ticket = hf_zk_items_tickets(items, &count);

    if (ticket == NULL) {
        hf_task_fail(&task->base, HF_ENOMEM, "out of memory");
        return;
    }
    for (; me < count && ticket[me].token != task->base.req->token; me++)
        hf_sum_add(&ahead, &ticket[me].shape);
    bool held = me < count && hf_sum_judge(&ahead, &ticket[me].shape) == HF_PASSES;
    free(ticket);
    prove_answer(zk, task, held);
}

/* ---- Our own ------------------------------------------------------------------------------ */

/* By its name, and not by what we know of it: an AMEND may be under way, or its answer lost. */
static void on_listed_to_prove(struct hf_zk *zk, struct hf_zk_task *task, int error)
{
    struct hf_zk_ticket *ticket = hf_zk_ticket_find(zk, task->base.req->id);
    bool                 held = false;

    if (error != 0 && error != HF_ZK_NO_NODE) {
        hf_zk_answer_done(zk, task, error, HF_ELOST, "check");
        return;
    }
    if (ticket != NULL) {
        hf_zk_ticket_confirm(zk, ticket);
        size_t me = hf_zk_line_own(task->line, ticket);
        held = me < task->line->count &&
               hf_zk_judge(task->line, me, &ticket->shape) == HF_PASSES;
    }
    prove_answer(zk, task, held);
}

/* If it is gone, its holder hears of it, as it would by a heartbeat. */
static void prove_own(struct hf_zk *zk, struct hf_zk_task *task,
                      const struct hf_zk_ticket *ticket)
{
    if (ticket == NULL ||
        (ticket->where != HF_ZK_THERE && ticket->where != HF_ZK_UNSURE)) {
        prove_answer(zk, task, false);
        return;
    }
    hf_zk_call_barrier(zk, &task->call[BARRIER],
                       ticket->path != NULL ? ticket->path : task->line->folder);
    task->on_list = on_listed_to_prove;
    hf_zk_line_list(zk, task->line, task);
}

void hf_zk_prove(struct hf_zk *zk, struct hf_zk_task *task)
{
    const struct hf_req *req = task->base.req;

    if (req->id != 0) {
        prove_own(zk, task, hf_zk_ticket_find(zk, req->id));
        return;
    }
    hf_zk_call_barrier(zk, &task->call[BARRIER], task->line->folder);
    hf_zk_gather(zk, task, on_gathered_to_prove);
}
