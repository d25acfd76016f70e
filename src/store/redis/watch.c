/* watch.c - WATCH: wait for news of the own place, or of a whole line.
 *
 * Of the own place the server tells us unasked, so that costs nothing.  To hear of
 * changes of a line one has to say so there; it is told once.
 */
#include "store/redis/inner.h"

#include <string.h>

/* ---- The end of one ----------------------------------------------------------------------- */

void hf_redis_watch_end(struct hf_redis *redis, struct hf_redis_task *task)
{
    (void)redis;
    if (task->place == NULL)
        return;
    struct hf_redis_task **at = &task->place->watch;
    while (*at != task)
        at = &(*at)->next_watch;
    *at = task->next_watch;
    task->place = NULL;
}

/* What it waits for has happened.  If the server is just being asked, its answer comes
 * first. */
void hf_redis_watch_fire(struct hf_redis *redis, struct hf_redis_task *task)
{
    if (task->call.flying) {
        hf_redis_watch_end(redis, task);
        task->fired = true;
    } else {
        hf_redis_finish(redis, task, 0);
    }
}

/* One is fired at a time, for done() may end others. */
static struct hf_redis_task *find(const struct hf_redis *redis, const char *name)
{
    for (struct hf_redis_task *task = redis->outsiders > 0 ? redis->tasks : NULL;
         task != NULL; task = task->next)
        if (task->outside && !task->fired &&
            (name == NULL || strcmp(task->req->name, name) == 0))
            return task;
    return NULL;
}

void hf_redis_watches_changed(struct hf_redis *redis, const char *name)
{
    struct hf_redis_task *task;

    while ((task = find(redis, name)) != NULL)
        hf_redis_watch_fire(redis, task);
}

/* ---- Time ---------------------------------------------------------------------------------- */

static struct hf_redis_task *first_due(const struct hf_redis *redis)
{
    struct hf_redis_task *first = NULL;

    for (struct hf_redis_task *task = redis->outsiders > 0 ? redis->tasks : NULL;
         task != NULL; task = task->next)
        if (task->outside && !task->fired && task->due != 0 &&
            (first == NULL || task->due < first->due))
            first = task;
    return first;
}

void hf_redis_watches_run(struct hf_redis *redis)
{
    struct hf_redis_task *task;

    while ((task = first_due(redis)) != NULL && task->due <= redis->now)
        hf_redis_watch_fire(redis, task);
}

hf_time hf_redis_watches_wake(const struct hf_redis *redis)
{
    const struct hf_redis_task *task = first_due(redis);

    return task != NULL ? task->due : HF_NEVER;
}

/* ---- The beginning -------------------------------------------------------------------------- */

static void on_watching(struct hf_redis *redis, void *data, const redisReply *reply)
{
    struct hf_redis_task *task = data;
    int                   code;

    if (!hf_redis_answered(redis, task, reply, &code))
        return;
    if (task->fired || task->req->canceled || hf_redis_number(reply, 1) != 0) {
        hf_redis_finish(redis, task, task->req->canceled ? HF_ECANCELED : 0);
        return;
    }
    hf_redis_look_in(redis, hf_redis_number(reply, 2));
    if (hf_redis_number(reply, 3) > 0) /* whoever is in the way tells nobody */
        task->due = redis->now + hf_redis_number(reply, 3) * 1000 + HF_MS;
}

static void watch_line(struct hf_redis *redis, struct hf_redis_task *task)
{
    const struct hf_req *req = task->req;

    task->outside = true;
    redis->outsiders++;
    hf_redis_script(redis, task->script = HF_REDIS_WATCH, 1);
    hf_redis_add_claim(redis, req->name);
    hf_redis_add_who(redis);
    hf_redis_add(redis, req->name);
    hf_redis_add_number(redis, req->stamp);
    for (size_t i = 0; i < req->count && req->id == 0; i++)
        hf_redis_add_seq(redis, req->seqs[i]);
    hf_redis_task_send(redis, task, on_watching);
}

void hf_redis_watch(struct hf_redis *redis, struct hf_redis_task *task)
{
    const struct hf_req   *req = task->req;
    struct hf_redis_place *place = hf_redis_place_find(redis, req->id);

    if (req->id != 0 && (place == NULL || place->away || place->news != place->read)) {
        hf_redis_finish(redis, task, 0);
        return;
    }
    if (place != NULL) {
        task->place = place;
        task->next_watch = place->watch;
        place->watch = task;
    }
    if (req->id == 0 || req->count == 0)
        watch_line(redis, task);
}
