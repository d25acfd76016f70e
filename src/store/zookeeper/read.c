/* read.c - READ: the line as it stands. */
#include "store/zookeeper/inner.h"

#include <assert.h>

/* ---- Answering --------------------------------------------------------------------------- */

/* Is it a semaphore's place that is granted and has none yet?  1, 0 or HF_ENOMEM. */
static int needs_slot(struct hf_zk *zk, const struct hf_zk_task *task)
{
    const struct hf_zk_ticket *ticket = task->ticket;

    if (ticket == NULL || ticket->slot >= 0 || !hf_shape_has_slots(&ticket->shape))
        return 0;
    return hf_zk_granted(zk, task->line, hf_zk_ticket_index(task->line, ticket),
                         &ticket->shape);
}

void hf_zk_read_answer(struct hf_zk *zk, struct hf_zk_task *task)
{
    struct hf_zk_ticket   *ticket = task->ticket;
    const struct hf_shape *shape =
        task->base.req->op == HF_ENTER ? &task->base.req->shape : NULL;

    assert(ticket == NULL || ticket->line == task->line);
    int r = needs_slot(zk, task);
    if (r > 0) {
        hf_zk_slot_take(zk, task);
        return;
    }
    if (r == 0)
        r = hf_zk_answer(zk, task->base.req, task->line, ticket, shape);
    if (r < 0)
        hf_task_fail(&task->base, r, "out of memory");
    else
        hf_task_finish(&task->base, 0);
}

static void on_listed_to_read(struct hf_zk *zk, struct hf_zk_task *task, int error)
{
    if (hf_zk_task_failed(zk, task, error, "list", task->line->folder))
        return;
    if (task->ticket != NULL)
        hf_zk_ticket_confirm(zk, task->ticket);
    hf_zk_read_answer(zk, task);
}

static void on_self_exists(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct hf_zk_task *task = data;

    if (hf_zk_task_failed(zk, task, reply->error, "read", task->ticket->path))
        return;
    assert(task->ticket == hf_zk_ticket_find(zk, task->base.req->id));
    if (reply->error == HF_ZK_NO_NODE)
        hf_zk_ticket_away(zk, task->ticket);
    if (task->ticket->where != HF_ZK_THERE || hf_zk_near_granted(task->ticket))
        hf_zk_read_answer(zk, task);
    else
        hf_zk_read(zk, task);
}

void hf_zk_read(struct hf_zk *zk, struct hf_zk_task *task)
{
    task->ticket = hf_zk_ticket_find(zk, task->base.req->id);
    if (task->ticket != NULL && task->ticket->where == HF_ZK_UNSURE) {
        hf_zk_search(zk, task, hf_zk_read); /* it was about to have its slot */
        return;
    }
    if (task->ticket != NULL && hf_zk_near_granted(task->ticket)) {
        /* Granted if only our own node is there.  We would have heard if it had gone, too;
         * or EXISTS tells, which is quick. */
        if (hf_zk_is_armed(zk, &task->ticket->self))
            hf_zk_read_answer(zk, task);
        else
            hf_zk_call_get(zk, &task->call[0], HF_ZK_EXISTS, task->ticket->path, false,
                           on_self_exists, task);
        return;
    }
    task->on_list = on_listed_to_read;
    hf_zk_line_list(zk, task->line, task);
}
