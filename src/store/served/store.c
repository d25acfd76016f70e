/* store.c - struct hf_remote_ops (remote/task.h) for this kind of store. */
#include "store/served/served.h"

#include "core/lease.h"

#include <assert.h>
#include <stdlib.h>

static void begin_task(struct hf_task *task)
{
    static void (*const verbs[])(struct hf_served_task *) = {
        [HF_ENTER] = hf_served_enter,
        [HF_WATCH] = hf_served_watch,
        [HF_LEAVE] = hf_served_leave,
        [HF_LIST] = hf_served_list,
        [HF_BREAK] = hf_served_anybody,
        [HF_DOWNGRADE] = hf_served_downgrade,
        [HF_ASK] = hf_served_anybody,
        [HF_VERIFY] = hf_served_verify,
        [HF_WATCH_STORE] = hf_served_watch_store,
        [HF_HISTORY] = hf_served_history,
    };
    const struct hf_served *served = (const struct hf_served *)task->remote;

    assert(hf_dial_status(task->remote->dial) > 0);
    if (task->req->op == HF_DIAGNOSE)
        served->ops->diagnose((struct hf_served_task *)task);
    else
        verbs[task->req->op]((struct hf_served_task *)task);
}

static void end_task(struct hf_task *base)
{
    struct hf_served_task *task = (struct hf_served_task *)base;

    assert(!task->flying);
    hf_served_watch_end(task);
    hf_served_watch_store_ended(task);
}

/* With a call in flight, the task ends with the answer. */
static void end_watch(struct hf_task *base)
{
    struct hf_served_task *task = (struct hf_served_task *)base;

    if (base->req->op == HF_WATCH_STORE)
        hf_served_watch_store_cancel(task);
    else if (!task->flying)
        hf_task_finish(base, HF_ECANCELED);
}

static void free_task(struct hf_task *base)
{
    struct hf_served_task *task = (struct hf_served_task *)base;

    hf_served_entries_free(task->entries);
    if (hf_served_of(task)->ops->free_task != NULL)
        hf_served_of(task)->ops->free_task(task);
}

static bool may_have(const struct hf_remote *remote, uint64_t id)
{
    return hf_served_place_find((const struct hf_served *)remote, id) != NULL;
}

/* ---- The lease ---------------------------------------------------------------- */

void hf_served_extend(struct hf_served *served, hf_time sent, hf_time ttl)
{
    hf_time guard = ttl / 40 < 50 * HF_MS ? ttl / 40 : 50 * HF_MS;
    hf_time until = hf_lease_deadline(sent, ttl, guard);

    assert(ttl > 0 && until < sent + ttl);
    if (until > served->base.alive_until) /* each was proven: the latest counts */
        served->base.alive_until = until;
}

/* ---- When a connection, or a session, has ended ------------------------------- */

static struct hf_task *first_at_rest(const struct hf_served *served)
{
    struct hf_task *task = served->remote.tasks;

    /* A task that is freed is no longer in the list, which clang-tidy cannot see.
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

static void lose(struct hf_remote *remote)
{
    struct hf_served *served = (struct hf_served *)remote;

    served->session++;
    served->watch.seen = 0;
    hf_served_tasks_fail(served);
    hf_served_places_drop(served);
    assert(served->places == 0);
}

/* ---- Both ends of its life ---------------------------------------------------- */

void hf_served_init(struct hf_served *served, const struct hf_served_ops *ops,
                    struct hf_dial *dial)
{
    served->remote_ops = (struct hf_remote_ops){
        .task_size = ops->task_size,
        .begin = begin_task,
        .end_watch = end_watch,
        .end_task = end_task,
        .free_task = free_task,
        .may_have = may_have,
        .lose = lose,
    };
    hf_remote_init(&served->remote, &served->remote_ops, dial);
    served->ops = ops;
    served->watch.due = HF_NEVER;
}

void hf_served_finish(struct hf_served *served)
{
    hf_remote_finish(&served->remote);
    assert(served->line_watches == 0);
    hf_served_places_drop(served);
    free(served->listed);
    free(served->watch.name);
}
