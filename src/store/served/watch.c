/* watch.c - WATCH: wait for news of the own place, or of a whole line.
 *
 * Of the own place the server tells us unasked, so that costs nothing.  To hear of
 * changes of a line one has to say so there; it is told once.
 */
#include "store/served/served.h"

#include <assert.h>
#include <string.h>

/* ---- The end of one ------------------------------------------------------------- */

void hf_served_watch_end(struct hf_served_task *task)
{
    if (task->place == NULL)
        return;
    struct hf_served_task **at = &task->place->watch;
    while (*at != task) {
        assert(*at != NULL); /* it is among those of its place */
        at = &(*at)->next_watch;
    }
    *at = task->next_watch;
    task->place = NULL;
}

/* What it waits for has happened.  If a call is under way, its answer comes
 * first. */
void hf_served_watch_fire(struct hf_served_task *task)
{
    assert(task->base.req->op == HF_WATCH && !task->fired);
    if (task->flying) {
        hf_served_watch_end(task);
        task->fired = true;
    } else {
        hf_task_finish(&task->base, 0);
    }
}

static bool is_open(const struct hf_served_task *task)
{
    return task->outside && !task->fired;
}

/* One is fired at a time, for done() may end others. */
static struct hf_served_task *find_watching(const struct hf_served *served,
                                            const char             *name)
{
    for (struct hf_task *at = served->outsiders > 0 ? served->remote.tasks : NULL;
         at != NULL; at = at->next)
        if (is_open((struct hf_served_task *)at) &&
            (name == NULL || strcmp(at->req->name, name) == 0))
            return (struct hf_served_task *)at;
    return NULL;
}

void hf_served_changed(struct hf_served *served, const char *name)
{
    struct hf_served_task *task;

    while ((task = find_watching(served, name)) != NULL)
        hf_served_watch_fire(task);
}

/* ---- Time ----------------------------------------------------------------------- */

static struct hf_served_task *first_due(const struct hf_served *served)
{
    struct hf_served_task *first = NULL;

    for (struct hf_task *at = served->outsiders > 0 ? served->remote.tasks : NULL;
         at != NULL; at = at->next) {
        struct hf_served_task *task = (struct hf_served_task *)at;
        if (is_open(task) && task->due != 0 && (first == NULL || task->due < first->due))
            first = task;
    }
    return first;
}

void hf_served_watches_run(struct hf_served *served)
{
    struct hf_served_task *task;

    while ((task = first_due(served)) != NULL && task->due <= served->remote.now)
        hf_served_watch_fire(task);
    hf_served_survey_run(served);
}

hf_time hf_served_watches_wake(const struct hf_served *served)
{
    const struct hf_served_task *task = first_due(served);

    return hf_sooner(task != NULL ? task->due : HF_NEVER, hf_served_survey_wake(served));
}

/* ---- The beginning -------------------------------------------------------------- */

/* The server knows that we watch. */
static void on_watching(struct hf_served_task *task, int code, const void *reply)
{
    struct hf_served *served = hf_served_of(task);
    bool              changed = served->ops->number(reply, 1) != 0;

    (void)code;
    task->due = served->ops->watch_until(served, reply);
    if (task->base.req->canceled)
        hf_task_finish(&task->base, HF_ECANCELED);
    else if (task->fired || changed)
        hf_task_finish(&task->base, 0);
}

static void watch_line(struct hf_served_task *task)
{
    struct hf_served    *served = hf_served_of(task);
    const struct hf_req *req = task->base.req;

    assert(!task->outside && req->name != NULL);
    task->outside = true;
    served->outsiders++;
    served->ops->begin(task);
    served->ops->add_number(served, req->stamp);
    served->ops->add_seqs(served, req->seqs, req->id == 0 ? req->count : 0);
    hf_served_send(task, on_watching);
}

static void watch_place(struct hf_served_task *task, struct hf_served_place *place)
{
    assert(task->place == NULL);
    task->place = place;
    task->next_watch = place->watch;
    place->watch = task;
}

void hf_served_watch(struct hf_served_task *task)
{
    struct hf_served       *served = hf_served_of(task);
    const struct hf_req    *req = task->base.req;
    struct hf_served_place *place = hf_served_place_find(served, req->id);

    if (served->ops->want_news != NULL)
        served->ops->want_news(served, place == NULL || !place->granted);
    if (req->id != 0 && (place == NULL || place->away || place->news != place->read)) {
        hf_task_finish(&task->base, 0);
        return;
    }
    if (place != NULL)
        watch_place(task, place);
    if (req->id == 0 || req->count == 0)
        watch_line(task);
}
