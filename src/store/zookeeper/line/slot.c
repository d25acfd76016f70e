/* slot.c - slot numbers of semaphores.
 *
 * The holders of a semaphore are told apart by a number from 0 to capacity - 1.  A
 * holder takes a number by creating the node `slot-N`, ephemeral like its place, with
 * the place's uuid as data. There are as many numbers as there can be holders, so one is
 * always free.  The listing shows which.  If another holder is quicker, we take the
 * next.
 */
#include "store/zookeeper/inner.h"

#include <assert.h>
#include <stdio.h>

#define TRIES 10

void hf_zk_slot_path(const struct hf_zk_line *line, int slot, char *ret)
{
    int size = snprintf(ret, HF_ZK_PATH_MAX, "%s/slot-%d", line->folder, slot);

    assert(slot >= 0 && size > 0 && size < HF_ZK_PATH_MAX);
    (void)size;
}

static bool is_taken(const struct hf_zk_line *line, int slot)
{
    for (size_t i = 0; i < line->slots; i++)
        if (line->slot[i] == (uint32_t)slot)
            return true;
    return false;
}

static void try_slot(struct hf_zk *zk, struct hf_zk_task *task);

static void on_slot_made(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct hf_zk_task *task = data;

    if (reply->error == 0) {
        task->own->slot = task->step;
        hf_zk_answer(zk, task, HF_STAND_HOLDS);
    } else if (reply->error == HF_ZK_NODE_EXISTS) {
        task->step++;
        try_slot(zk, task);
    } else {
        if (reply->error == HF_ZK_CONNECTION_LOSS && task->own->where == HF_ZK_THERE) {
            task->own->slot_tried = task->step;
            hf_zk_own_unlisten(zk, task->own, false);
            hf_zk_own_set(zk, task->own, HF_ZK_UNSURE);
        }
        hf_task_finish(&task->base, hf_zk_fault(zk, reply->error, "take a slot in",
                                                task->line->folder));
    }
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
        hf_task_fail(&task->base, HF_EDOWN, "no slot of \"%.100s\" is free yet",
                     task->base.req->name);
        return;
    }
    task->on_list = on_listed_for_slot;
    hf_zk_line_list(zk, task->line, task);
}

static void try_slot(struct hf_zk *zk, struct hf_zk_task *task)
{
    char path[HF_ZK_PATH_MAX];

    while (is_taken(task->line, task->step))
        task->step++;
    if ((uint32_t)task->step >= task->own->shape.capacity) {
        list_for_slot(zk, task);
        return;
    }
    hf_zk_slot_path(task->line, task->step, path);
    hf_zk_call_create(zk, &task->call[3], path, task->own->uuid, HF_ZK_EPHEMERAL,
                      on_slot_made, task);
}

void hf_zk_slot_take(struct hf_zk *zk, struct hf_zk_task *task)
{
    assert(task->own->slot < 0 && hf_shape_has_slots(&task->own->shape));
    task->step = 0;
    try_slot(zk, task);
}
