/* watch_store.c - WATCH_STORE: which lines have changed since the last one?
 *
 *     WATCH_STORE --call--> some, or any may have --------------------------> done
 *               |
 *               +----> none: it waits for the message "s"; or, if the server sends
 *                      none, until it is time to ask again --> call
 *
 * From the first call of a session on, the server logs changes for us.  Each call says
 * up to where we know all of them (`seen`), so an answer may get lost.  The server
 * stops logging when a WATCH_STORE is canceled, and when none has come for a while.
 */
#include "store/served/served.h"

#include "base/grow.h"

#include <assert.h>
#include <stdlib.h>

#define LAPSE (60 * HF_SEC) /* how long changes are logged without a WATCH_STORE */

static void on_changes(struct hf_served_task *task, int code, const void *reply);

static void call_store_watch(struct hf_served_task *task, bool end,
                             hf_served_on_answer *on_answer)
{
    struct hf_served *served = hf_served_of(task);

    served->watch.rung = false;
    served->ops->begin(task);
    served->ops->add_number(served, served->watch.seen);
    served->ops->add_number(served, end);
    hf_served_send(task, on_answer);
}

/* ---- The end ------------------------------------------------------------------ */

static void on_forgotten(struct hf_served_task *task, int code, const void *reply)
{
    (void)code;
    (void)reply;
    hf_served_of(task)->watch.seen = 0;
    hf_task_finish(&task->base, task->base.req->canceled ? HF_ECANCELED : 0);
}

void hf_served_watch_store_cancel(struct hf_served_task *task)
{
    if (!task->flying) /* else its answer sees to it */
        call_store_watch(task, true, on_forgotten);
}

void hf_served_watch_store_ended(struct hf_served_task *task)
{
    struct hf_served_watch_store *watch = &hf_served_of(task)->watch;

    if (watch->task != task)
        return;
    watch->task = NULL;
    watch->due = watch->seen != 0 ? hf_served_of(task)->remote.now + LAPSE : HF_NEVER;
}

static void on_lapsed(struct hf_req *req)
{
    struct hf_served_watch_store *watch = req->data;

    watch->lapsing = false;
}

/* By a request of our own, with an id that tells it from the caller's. */
static void lapse(struct hf_served *served)
{
    struct hf_served_watch_store *watch = &served->watch;

    watch->due = HF_NEVER;
    if (watch->lapsing)
        return;
    watch->lapsing = true;
    watch->lapse = (struct hf_req){
        .op = HF_WATCH_STORE, .id = 1, .done = on_lapsed, .data = watch
    };
    hf_remote_submit(&served->base, &watch->lapse);
}

/* ---- The answer --------------------------------------------------------------- */

/* False: no memory. */
static bool take_names(struct hf_served *served, const void *reply, size_t *count)
{
    struct hf_served_watch_store *watch = &served->watch;
    const char                   *name;

    *count = 0;
    while ((name = served->ops->changed(reply, *count)) != NULL) {
        const char **grown =
            hf_grow(watch->name, &watch->room, *count + 1, sizeof *grown);
        if (grown == NULL)
            return false;
        watch->name = grown;
        watch->name[(*count)++] = name;
    }
    return true;
}

/* { code, seen, for store_watch_until(), any may have changed }, and names. */
static void on_changes(struct hf_served_task *task, int code, const void *reply)
{
    struct hf_served             *served = hf_served_of(task);
    struct hf_served_watch_store *watch = &served->watch;
    struct hf_req                *req = task->base.req;
    bool                          unknown = served->ops->number(reply, 3) != 0;
    size_t                        count;

    (void)code;
    if (req->canceled) {
        call_store_watch(task, true, on_forgotten);
        return;
    }
    unknown |= !take_names(served, reply, &count);
    if (!unknown && count == 0) {
        watch->due = served->ops->store_watch_until(served, reply);
        return;
    }
    watch->seen = (uint64_t)served->ops->number(reply, 1);
    req->changed = watch->name;
    req->changes = unknown ? 0 : count;
    hf_task_finish(&task->base, 0);
}

/* ---- The beginning, and between ----------------------------------------------- */

void hf_served_watch_store(struct hf_served_task *task)
{
    struct hf_served *served = hf_served_of(task);

    if (task->base.req->id != 0) {
        call_store_watch(task, true, on_forgotten);
        return;
    }
    assert(served->watch.task == NULL); /* one at a time */
    served->watch.task = task;
    served->watch.due = HF_NEVER;
    if (served->ops->want_messages != NULL)
        served->ops->want_messages(served, true);
    call_store_watch(task, false, on_changes);
}

/* A line has changed, or may have without a message. */
void hf_served_watch_store_ring(struct hf_served *served)
{
    served->watch.rung = true;
}

static bool is_due(const struct hf_served *served)
{
    const struct hf_served_watch_store *watch = &served->watch;

    return watch->task != NULL && watch->rung;
}

void hf_served_watch_store_run(struct hf_served *served)
{
    struct hf_served_watch_store *watch = &served->watch;

    if (hf_dial_status(served->remote.dial) <= 0 ||
        (watch->task != NULL && watch->task->flying))
        return;
    if (watch->task == NULL && served->remote.now >= watch->due)
        lapse(served);
    else if (is_due(served) || (watch->task != NULL && served->remote.now >= watch->due))
        call_store_watch(watch->task, false, on_changes);
}

hf_time hf_served_watch_store_wake(const struct hf_served *served)
{
    const struct hf_served_watch_store *watch = &served->watch;

    if (hf_dial_status(served->remote.dial) <= 0 ||
        (watch->task != NULL && watch->task->flying))
        return HF_NEVER;
    return is_due(served) ? 0 : watch->due;
}
