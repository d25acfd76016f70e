/* store.c - what requests at work (remote/task.h) need of this kind of store. */
#include "store/served/served.h"

#include <assert.h>
#include <stdlib.h>

void hf_served_init(struct hf_served *served, const struct hf_served_ops *ops,
                    const struct hf_remote_ops *remote_ops)
{
    hf_remote_init(&served->remote, remote_ops);
    served->ops = ops;
}

void hf_served_finish(struct hf_served *served)
{
    hf_remote_finish(&served->remote);
    assert(served->outsiders == 0);
    hf_served_places_drop(served);
    free(served->ticket);
}

void hf_served_begin(struct hf_task *task)
{
    struct hf_served *served = (struct hf_served *)task->remote;

    served->ops->verb[task->req->op](served, (struct hf_served_task *)task);
}

void hf_served_end_task(struct hf_task *base)
{
    struct hf_served_task *task = (struct hf_served_task *)base;

    assert(!task->flying);
    hf_served_watch_end(task);
    hf_served_of(task)->outsiders -= task->outside;
}

/* One of which the server is just being told ends with the answer. */
void hf_served_end_watch(struct hf_task *base)
{
    const struct hf_served_task *task = (const struct hf_served_task *)base;

    if (!task->flying)
        hf_task_finish(base, HF_ECANCELED);
}

bool hf_served_may_have(const struct hf_remote *remote, uint64_t id)
{
    return hf_served_place_find((const struct hf_served *)remote, id) != NULL;
}

/* ---- When a connection, or a session, has ended -------------------------------------------- */

static struct hf_task *first_at_rest(const struct hf_served *served)
{
    struct hf_task *task = served->remote.tasks;

    /* Whoever is freed is not in the list any more, which clang-tidy cannot see.
     * NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
    while (task != NULL && ((struct hf_served_task *)task)->flying)
        task = task->next;
    return task;
}

void hf_served_tasks_fail(struct hf_served *served)
{
    struct hf_task *task;

    while ((task = first_at_rest(served)) != NULL)
        hf_task_finish(task, HF_EDOWN);
}

void hf_served_lose(struct hf_remote *remote)
{
    struct hf_served *served = (struct hf_served *)remote;

    hf_served_tasks_fail(served);
    hf_served_places_drop(served);
}
