/* watch.c - WATCH: wait until our own place stands differently, or until a line has
 * changed.
 *
 * The own place.  The server sends messages about it unasked, so waiting costs
 * nothing.  What we know is stored at the place.  hf_served_watch_place() decides by
 * that, when a WATCH begins and after every answer:
 *
 *     there is no such place (any more) ---------------------------> done: NONE
 *     notified since the last read, or the grant is not safe -------> READS
 *     it stands differently from what the caller knows -------------> done
 *     it follows the line, and we have not asked for messages ------> REGISTERS
 *     else ---------------------------------------------------------> RESTS
 *
 *     state      by                     moves on by
 *     READS      flying                 the answer: decide
 *     REGISTERS  flying, watches_line   the answer, which counts as notified: decide.
 *                                       So we read changes from before we registered
 *     RESTS      place, its `watch`     a message: begun again; canceled
 *
 * No message gets lost while a call is in flight.  It raises place->notified; the
 * answer only sets place->read to what place->notified was when the call was sent; so
 * the next decision reads again.
 *
 * A line (id 0).  The server sends one message, and only to clients that asked for it:
 *
 *     REGISTERS --answer: changed already, or the message came first--> done
 *         |
 *         +------answer: registered--> RESTS --message, or `due`--> done
 *
 * `watches_line`: we have asked for a message about the line, and it has not come yet.
 * It may overtake the answer, so this is set before the call.
 */
#include "store/served/served.h"

#include <assert.h>
#include <string.h>

/* ---- A WATCH ends ------------------------------------------------------------- */

static void end_outside(struct hf_served_task *task)
{
    struct hf_served *served = hf_served_of(task);

    assert(served->line_watches >= task->watches_line);
    served->line_watches -= task->watches_line;
    task->watches_line = false;
}

void hf_served_watch_end(struct hf_served_task *task)
{
    end_outside(task);
    if (task->place == NULL)
        return;
    struct hf_served_task **at = &task->place->watch;
    while (*at != task) {
        assert(*at != NULL); /* every WATCH that waits is in the list of its place */
        at = &(*at)->next_watch;
    }
    *at = task->next_watch;
    task->place = NULL;
}

/* ---- A line has changed ------------------------------------------------------- */

/* One at a time: done() may end others. */
static struct hf_served_task *find_watching(const struct hf_served *served,
                                            const char             *name)
{
    for (struct hf_task *at = served->line_watches > 0 ? served->remote.tasks : NULL;
         at != NULL; at = at->next)
        if (((struct hf_served_task *)at)->watches_line &&
            (name == NULL || strcmp(at->req->name, name) == 0))
            return (struct hf_served_task *)at;
    return NULL;
}

/* While a call is in flight, only note it: the answer goes on from there. */
static void line_changed(struct hf_served_task *task)
{
    struct hf_served_place *place =
        hf_served_place_find(hf_served_of(task), task->base.req->id);

    end_outside(task);
    if (place != NULL)
        hf_served_place_notify(place);
    else if (!task->flying)
        hf_task_finish(&task->base, 0);
}

void hf_served_changed(struct hf_served *served, const char *name)
{
    struct hf_served_task *task;

    while ((task = find_watching(served, name)) != NULL)
        line_changed(task);
}

/* ---- Time --------------------------------------------------------------------- */

static struct hf_served_task *first_due(const struct hf_served *served)
{
    struct hf_served_task *first = NULL;

    for (struct hf_task *at = served->line_watches > 0 ? served->remote.tasks : NULL;
         at != NULL; at = at->next) {
        struct hf_served_task *task = (struct hf_served_task *)at;
        if (task->watches_line && task->due != 0 &&
            (first == NULL || task->due < first->due))
            first = task;
    }
    return first;
}

void hf_served_watches_run(struct hf_served *served)
{
    struct hf_served_task *task;

    while ((task = first_due(served)) != NULL && task->due <= served->remote.now)
        line_changed(task);
    hf_served_watch_store_run(served);
}

hf_time hf_served_watches_wake(const struct hf_served *served)
{
    const struct hf_served_task *task = first_due(served);

    return hf_sooner(task != NULL ? task->due : HF_NEVER,
                     hf_served_watch_store_wake(served));
}

/* ---- A line ------------------------------------------------------------------- */

/* { code, changed already } */
static void on_watching(struct hf_served_task *task, int code, const void *reply)
{
    struct hf_served       *served = hf_served_of(task);
    const struct hf_req    *req = task->base.req;
    struct hf_served_place *place = hf_served_place_find(served, req->id);

    (void)code;
    task->due = served->ops->watch_until(served, reply);
    if (served->ops->number(reply, 1) != 0)
        end_outside(task);
    if (req->id != 0) {
        if (place != NULL)
            place->notified++;
        hf_served_watch_place(task);
    } else if (req->canceled) {
        hf_task_finish(&task->base, HF_ECANCELED);
    } else if (!task->watches_line) {
        hf_task_finish(&task->base, 0);
    }
}

static void watch_line(struct hf_served_task *task, uint64_t stamp, uint64_t token)
{
    struct hf_served *served = hf_served_of(task);

    assert(!task->watches_line && task->base.req->name != NULL);
    task->watches_line = true;
    task->due = 0;
    served->line_watches++;
    served->ops->begin(task);
    served->ops->add_number(served, stamp);
    served->ops->add_seq(served, token);
    hf_served_send(task, on_watching);
}

/* ---- The own place ------------------------------------------------------------ */

static void rest(struct hf_served_task *task, struct hf_served_place *place)
{
    assert(task->place == NULL);
    task->place = place;
    task->next_watch = place->watch;
    place->watch = task;
}

void hf_served_watch_place(struct hf_served_task *task)
{
    struct hf_served       *served = hf_served_of(task);
    struct hf_req          *req = task->base.req;
    struct hf_served_place *place = hf_served_place_find(served, req->id);
    struct hf_standing      now = hf_served_standing(place);

    assert(!task->flying);
    if (req->canceled) {
        hf_task_finish(&task->base, HF_ECANCELED);
    } else if (now.state != HF_STAND_NONE &&
               (place->notified != place->read || hf_served_is_unsafe(served, place))) {
        hf_served_read(task, place);
    } else if (now.state == HF_STAND_NONE || hf_standing_differs(&now, req)) {
        req->standing = now;
        hf_task_finish(&task->base, 0);
    } else if (req->follow && !place->granted && !task->watches_line) {
        watch_line(task, 0, place->seq);
    } else {
        rest(task, place);
    }
}

void hf_served_watch(struct hf_served_task *task)
{
    struct hf_served       *served = hf_served_of(task);
    const struct hf_req    *req = task->base.req;
    struct hf_served_place *place = hf_served_place_find(served, req->id);

    if (served->ops->want_messages != NULL)
        served->ops->want_messages(served, place == NULL || !place->granted);
    if (req->id == 0) {
        watch_line(task, req->stamp, req->token);
        return;
    }
    if (place != NULL && req->standing.state == HF_STAND_UNKNOWN)
        place->notified++; /* a caller that knows nothing gets a fresh answer */
    hf_served_watch_place(task);
}
