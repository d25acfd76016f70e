/* task.c - a verb becomes a call of a script. */
#include "store/redis/inner.h"

#include <assert.h>

/* How a verb's script is called.  Behind its keys come the caller and the line's name. */
struct form {
    enum hf_redis_script script;
    bool                 own; /* the caller is our own place, else the session */
};

static const struct form forms[] = {
    [HF_ENTER] = { HF_REDIS_ENTER, true },
    [HF_WATCH] = { HF_REDIS_WATCH, false },
    [HF_LEAVE] = { HF_REDIS_LEAVE, true },
    [HF_LIST] = { HF_REDIS_LIST, false },
    [HF_BREAK] = { HF_REDIS_BREAK, false },
    [HF_DOWNGRADE] = { HF_REDIS_DOWNGRADE, true },
    [HF_ASK] = { HF_REDIS_ASK, false },
    [HF_VERIFY] = { HF_REDIS_VERIFY, false },
    [HF_DIAGNOSE] = { HF_REDIS_DIAGNOSE, false },
    [HF_WATCH_STORE] = { HF_REDIS_WATCH_STORE, false },
    [HF_HISTORY] = { HF_REDIS_HISTORY, false },
};

/* A claim has a key of its own.  A call must name it if the script may touch it. */
static bool may_touch_claim(const struct hf_served *served, const struct hf_req *req,
                            const struct form *form)
{
    const struct hf_served_place *place;

    switch (form->script) {
    case HF_REDIS_ENTER:
        return req->shape.claim;
    case HF_REDIS_LEAVE:
    case HF_REDIS_READ:
        place = hf_served_place_find(served, req->id);
        return place == NULL || place->shape.claim;
    case HF_REDIS_HISTORY:
        return false;
    default:
        return !form->own && req->name != NULL;
    }
}

/* A read also writes, to prove that the server can write, or to give replicas something
 * to confirm that is younger than the grant (replicas.c). */
static bool leaves_mark(const struct hf_redis *redis, const struct hf_req *req)
{
    const struct hf_served_place *place = hf_served_place_find(&redis->served, req->id);

    return req->op == HF_VERIFY ||
           (redis->config.replicas > 0 && place != NULL && !place->safe);
}

static void begin_call(struct hf_served_task *task, const struct form *form)
{
    struct hf_redis     *redis = (struct hf_redis *)hf_served_of(task);
    const struct hf_req *req = task->base.req;
    bool                 claim = may_touch_claim(&redis->served, req, form);

    assert(!task->flying && (!claim || req->name != NULL));
    if (form->script == HF_REDIS_ENTER && !redis->session.locks)
        hf_redis_session_use(redis);
    ((struct hf_redis_task *)task)->script = form->script;
    hf_redis_script(redis, form->script, claim);
    if (claim)
        hf_redis_add_claim(redis, req->name);
    if (form->own)
        hf_redis_add_owner(redis, req->id);
    else
        hf_redis_add_session(redis);
    if (req->name != NULL || form->script == HF_REDIS_HISTORY ||
        form->script == HF_REDIS_LIST)
        hf_redis_add_note(&redis->served, req->name);
}

void hf_redis_begin(struct hf_served_task *task)
{
    begin_call(task, &forms[task->base.req->op]);
}

void hf_redis_begin_read(struct hf_served_task *task)
{
    struct hf_redis *redis = (struct hf_redis *)hf_served_of(task);

    begin_call(task, &(struct form){ HF_REDIS_READ, true });
    hf_redis_add(&redis->served, leaves_mark(redis, task->base.req) ? "1" : "0");
}

static void on_reply(struct hf_redis *redis, void *data, const redisReply *reply)
{
    const struct hf_redis_task *task = data;
    enum hf_served_fault        fault = hf_redis_fault(redis, reply);
    hf_time                     sent = task->call.sent;

    if (fault == HF_SERVED_MISSING) {
        hf_redis_script_load(redis, task->script);
        fault = HF_SERVED_AGAIN;
    }
    if (fault == HF_SERVED_FINE && hf_redis_number(reply, 0) == HF_REDIS_NEEDS_LOG) {
        redis->log_keys = true;
        fault = HF_SERVED_AGAIN;
    }
    hf_served_answered(data, fault, reply);
    hf_redis_session_saw_token(redis, redis->served.token, sent);
}

void hf_redis_task_send(struct hf_served_task *task)
{
    struct hf_redis *redis = (struct hf_redis *)hf_served_of(task);

    assert(!((struct hf_redis_task *)task)->call.flying);
    hf_redis_send(redis, &((struct hf_redis_task *)task)->call, on_reply, task);
}
