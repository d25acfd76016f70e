/* slot.c - slot numbers of semaphores.
 *
 * The holders of a semaphore are told apart by a number from 0 to capacity - 1.  A
 * holder takes a number by creating the node `slot-N`, ephemeral like its place, with
 * the place's uuid as data; in the same transaction it checks that nobody has broken the
 * place.  There are as many numbers as there can be holders, so one is always free.  The
 * listing shows which.  If another holder is quicker, we take the next.
 */
#include "store/zookeeper/inner.h"

#include <assert.h>

#define TRIES 10

static bool is_taken(const struct hf_zk_line *line, int slot)
{
    for (size_t i = 0; i < line->slots; i++)
        if (line->slot[i] == (uint32_t)slot)
            return true;
    return false;
}

static void try_slot(struct hf_zk *zk, struct hf_zk_task *task);

static void slot_not_made(struct hf_zk *zk, struct hf_zk_task *task, int error)
{
    struct hf_zk_own *own = task->own;

    if (error == HF_ZK_CONNECTION_LOSS)
        hf_zk_own_unsure(zk, own);
    else if (own->companion != NULL)
        own->companion->where = HF_ZK_NOWHERE;
    if (error == HF_ZK_NODE_EXISTS) {
        task->step++;
        try_slot(zk, task);
    } else if (error == HF_ZK_NO_NODE) {
        hf_zk_own_taken(zk, own);
        hf_zk_answer(zk, task, HF_STAND_NONE);
    } else {
        hf_task_finish(&task->base,
                       hf_zk_fault(zk, error, "take a slot in", task->line->folder));
    }
}

static void on_slot_made(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct hf_zk_task *task = data;

    if (reply->error != 0) {
        slot_not_made(zk, task, reply->error);
        return;
    }
    if (task->own->companion != NULL)
        task->own->companion->where = HF_ZK_THERE;
    hf_zk_answer(zk, task, HF_STAND_HOLDS);
}

static void on_listed_for_slot(struct hf_zk *zk, struct hf_zk_task *task, int error)
{
    if (hf_zk_task_failed(zk, task, error, "list", task->line->folder))
        return;
    hf_zk_answer_listed(zk, task); /* which calls us again if the place still exists */
}

/* All are taken although we are granted: another holder was quicker, and its old number
 * is free now; or a holder whose place was broken has not noticed yet. */
static void list_for_slot(struct hf_zk *zk, struct hf_zk_task *task)
{
    if (++task->tries > TRIES) {
        hf_task_fail(&task->base, HF_EDOWN,
                     "no slot of \"%.100s\" is free yet; "
                     "\"holdfast show\" names one that no place has",
                     task->base.req->name);
        return;
    }
    task->on_list = on_listed_for_slot;
    hf_zk_line_list(zk, task->line, task);
}

static void try_slot(struct hf_zk *zk, struct hf_zk_task *task)
{
    struct hf_zk_own *own = task->own;

    while (is_taken(task->line, task->step))
        task->step++;
    if ((uint32_t)task->step >= own->shape.capacity) {
        list_for_slot(zk, task);
        return;
    }
    if (!hf_zk_companion_ready(own)) {
        hf_task_fail(&task->base, HF_ENOMEM, "out of memory");
        return;
    }
    hf_zk_multi_begin(zk, &task->call[3], on_slot_made, task);
    hf_zk_multi_check(zk, own->path);
    hf_zk_companion_put(zk, own, task->step);
    hf_zk_multi_end(zk);
}

void hf_zk_slot_take(struct hf_zk *zk, struct hf_zk_task *task)
{
    assert(hf_zk_own_slot(task->own) < 0 && hf_shape_has_slots(&task->own->shape));
    task->step = 0;
    try_slot(zk, task);
}
