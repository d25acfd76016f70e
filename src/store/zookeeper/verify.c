/* verify.c - VERIFY: is a place held?
 *
 *     barrier + listing --> the rule of every grant, hf_sum_judge(), for that place
 *
 * The barrier is a write that a quorum accepts and that changes nothing: the listing
 * behind it shows the line at that moment, or later.
 */
#include "store/zookeeper/inner.h"

#include <assert.h>
#include <stdlib.h>

enum { BARRIER }; /* call[] */

static void verify_answer(struct hf_zk *zk, struct hf_zk_task *task, bool held)
{
    hf_zk_answer_done(zk, task, held ? 0 : HF_ZK_NO_NODE, HF_ELOST, "check");
}

/* ---- Any place, by its token -------------------------------------------------------- */

static void on_scanned_to_verify(struct hf_zk *zk, struct hf_zk_task *task,
                                 const struct hf_zk_entries *entries)
{
    struct hf_sum    ahead = { 0 };
    size_t           count, me = 0;
    struct hf_place *places = hf_zk_entries_places(entries, &count);

    if (places == NULL) {
        hf_task_fail(&task->base, HF_ENOMEM, "out of memory");
        return;
    }
    for (; me < count && places[me].token != task->base.req->token; me++)
        hf_sum_add(&ahead, &places[me].shape);
    bool held = me < count && hf_sum_judge(&ahead, &places[me].shape) == HF_PASSES;
    free(places);
    verify_answer(zk, task, held);
}

/* ---- Our own place ------------------------------------------------------------------ */

/* Found by its uuid, not by what we know of it: a DOWNGRADE may be in flight, or its
 * answer lost. */
static void on_listed_to_verify(struct hf_zk *zk, struct hf_zk_task *task, int error)
{
    struct hf_zk_own *own = hf_zk_own_find(zk, task->base.req->id);
    bool              held = false;

    if (error != 0 && error != HF_ZK_NO_NODE) {
        hf_zk_answer_done(zk, task, error, HF_ELOST, "check");
        return;
    }
    if (own != NULL) {
        hf_zk_own_confirm(zk, own);
        size_t me = hf_zk_line_find_own(task->line, own);
        held = me < task->line->count &&
               hf_zk_judge(task->line, me, &own->shape) == HF_PASSES;
    }
    verify_answer(zk, task, held);
}

/* If it is gone, its holder is notified, as by a heartbeat. */
static void verify_own(struct hf_zk *zk, struct hf_zk_task *task,
                       const struct hf_zk_own *own)
{
    if (own == NULL || (own->where != HF_ZK_THERE && own->where != HF_ZK_UNSURE)) {
        verify_answer(zk, task, false);
        return;
    }
    hf_zk_call_barrier(zk, &task->call[BARRIER],
                       own->path != NULL ? own->path : task->line->folder);
    task->on_list = on_listed_to_verify;
    hf_zk_line_list(zk, task->line, task);
}

void hf_zk_verify(struct hf_zk *zk, struct hf_zk_task *task)
{
    const struct hf_req *req = task->base.req;

    if (req->id != 0) {
        verify_own(zk, task, hf_zk_own_find(zk, req->id));
        return;
    }
    hf_zk_call_barrier(zk, &task->call[BARRIER], task->line->folder);
    hf_zk_scan(zk, task, on_scanned_to_verify);
}
