/* prove.c - PROVE: is a place still there?  A write that a quorum takes, and that
 * changes nothing. */
#include "store/zookeeper/inner.h"

#include <assert.h>
#include <stdlib.h>

static void prove_answer(struct hf_zk *zk, struct hf_zk_task *task, int error)
{
    hf_zk_answer_done(zk, task, error, HF_ELOST, "check");
}

/* If it is our own and gone, its holder hears of it, as it would by a heartbeat. */
static void prove_end(struct hf_zk *zk, struct hf_zk_task *task)
{
    struct hf_zk_ticket *ticket = hf_zk_ticket_find(zk, task->base.req->id);

    assert(!task->call[0].flying && !task->call[2].flying);
    if (task->error == HF_ZK_NO_NODE && ticket != NULL)
        hf_zk_ticket_away(zk, ticket);
    prove_answer(zk, task, task->error);
}

/* It was read behind the check: if this is the claim we mean, that was so then, too. */
static void on_claim_proven(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct hf_zk_task *task = data;
    struct hf_zk_stat  stat = { 0 };

    assert(task->claim != 0);
    hf_zk_get_text(&reply->body);
    hf_zk_get_stat(&reply->body, &stat);
    if (task->error == 0)
        task->error = reply->error;
    if (task->error == 0 && (uint64_t)stat.czxid != task->claim)
        task->error = HF_ZK_NO_NODE;
    prove_end(zk, task);
}

static void on_proven(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct hf_zk_task *task = data;

    task->error = reply->error;
    if (task->claim == 0)
        prove_end(zk, task);
}

/* `claim`: its seq if it is one; all have the same path. */
static void prove_path(struct hf_zk *zk, struct hf_zk_task *task, const char *path,
                       uint64_t claim)
{
    size_t begin = hf_zk_call_begin(zk, &task->call[0], HF_ZK_MULTI, on_proven, task);

    hf_zk_multi_check(zk, path);
    hf_zk_multi_end(zk);
    hf_zk_call_end(zk, begin);
    task->claim = claim;
    if (claim != 0)
        hf_zk_call_get(zk, &task->call[2], HF_ZK_GET_DATA, path, false, on_claim_proven,
                       task);
}

/* By its token: it must be there, and be granted. */
static void on_gathered_to_prove(struct hf_zk *zk, struct hf_zk_task *task,
                                 const struct hf_zk_items *items)
{
    uint64_t weight = 0;

    for (size_t i = 0; i < items->count; i++) {
        const struct hf_zk_item *item = &items->item[i];
        if (item->child.style == HF_ZK_SLOT || !item->there)
            continue;
        weight += item->child.shape.weight;
        if (weight > item->child.shape.capacity)
            break; /* this one waits, and so do all behind it */
        if (item->token != task->base.req->token)
            continue;
        char *path = hf_zk_path_new(task->line, item->name);
        if (path == NULL)
            hf_task_fail(&task->base, HF_ENOMEM, "out of memory");
        else
            prove_path(zk, task, path, item->child.shape.claim ? item->seq : 0);
        free(path);
        return;
    }
    prove_answer(zk, task, HF_ZK_NO_NODE);
}

/* It is getting another name just now, or may have got one: the listing shows which. */
static void on_listed_to_prove(struct hf_zk *zk, struct hf_zk_task *task, int error)
{
    struct hf_zk_ticket *ticket = hf_zk_ticket_find(zk, task->base.req->id);
    const char *name = ticket != NULL ? hf_zk_line_own_name(task->line, ticket) : NULL;
    char        path[HF_ZK_PATH_MAX];

    if (error != 0 || name == NULL) {
        prove_answer(zk, task, error != 0 ? error : HF_ZK_NO_NODE);
        return;
    }
    hf_zk_path(task->line, name, path);
    prove_path(zk, task, path, ticket->shape.claim ? ticket->seq : 0);
}

void hf_zk_prove(struct hf_zk *zk, struct hf_zk_task *task)
{
    struct hf_zk_ticket *ticket = hf_zk_ticket_find(zk, task->base.req->id);

    if (task->base.req->id == 0)
        hf_zk_gather(zk, task, on_gathered_to_prove);
    else if (ticket == NULL ||
             (ticket->where != HF_ZK_THERE && ticket->where != HF_ZK_UNSURE))
        prove_answer(zk, task, HF_ZK_NO_NODE);
    else if (ticket->where == HF_ZK_THERE && !ticket->moving)
        prove_path(zk, task, ticket->path, ticket->shape.claim ? ticket->seq : 0);
    else {
        hf_zk_call_barrier(zk, &task->call[1], task->line->folder);
        task->on_list = on_listed_to_prove;
        hf_zk_line_list(zk, task->line, task);
    }
}
