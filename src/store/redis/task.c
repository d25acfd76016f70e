/* task.c - requests at work, and what becomes of them when an answer comes. */
#include "store/redis/inner.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct hf_redis_task *hf_redis_task_new(struct hf_redis *redis, struct hf_req *req)
{
    struct hf_redis_task *task = calloc(1, sizeof *task);
    if (task == NULL)
        return NULL;
    task->redis = redis;
    task->req = req;
    task->prev = redis->tasks_end;
    *redis->tasks_end = task;
    redis->tasks_end = &task->next;
    req->work = task;
    req->snapshot = (struct hf_line){ 0 };
    req->me = 0;
    req->ahead = 0;
    if (req->op != HF_WATCH)
        req->stamp = 0;
    return task;
}

/* It is none any more; its request may be asked again. */
static void task_free(struct hf_redis *redis, struct hf_redis_task *task)
{
    assert(!task->call.flying);
    hf_redis_watch_end(redis, task);
    redis->outsiders -= task->outside;
    *task->prev = task->next;
    if (task->next != NULL)
        task->next->prev = task->prev;
    else
        redis->tasks_end = task->prev;
    task->req->work = NULL;
    free(task);
}

void hf_redis_finish(struct hf_redis *redis, struct hf_redis_task *task, int status)
{
    struct hf_req *req = task->req;

    task_free(redis, task);
    req->status = status;
    if (!redis->closing)
        req->done(req);
}

void hf_redis_fail(struct hf_redis *redis, struct hf_redis_task *task, int status,
                   const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(redis->base.errmsg, sizeof redis->base.errmsg, format, args);
    va_end(args);
    hf_redis_finish(redis, task, status);
}

void hf_redis_task_send(struct hf_redis *redis, struct hf_redis_task *task,
                        hf_redis_on_reply *on_reply)
{
    hf_redis_send(redis, &task->call, on_reply, task);
}

/* Those that wait for an answer are ended by it; the others here. */
void hf_redis_tasks_fail(struct hf_redis *redis)
{
    struct hf_redis_task *task = redis->tasks;

    while (task != NULL && task->call.flying)
        task = task->next;
    while (task != NULL) {
        hf_redis_finish(redis, task, HF_EDOWN);
        for (task = redis->tasks; task != NULL && task->call.flying;)
            task = task->next;
    }
}

void hf_redis_task_begin(struct hf_redis *redis, struct hf_redis_task *task)
{
    static void (*const verbs[])(struct hf_redis *, struct hf_redis_task *) = {
        [HF_ENTER] = hf_redis_enter, [HF_READ] = hf_redis_look,
        [HF_WATCH] = hf_redis_watch, [HF_LEAVE] = hf_redis_leave,
        [HF_LIST] = hf_redis_list,   [HF_BREAK] = hf_redis_reach,
        [HF_AMEND] = hf_redis_amend, [HF_ASK] = hf_redis_reach,
        [HF_PROVE] = hf_redis_prove, [HF_EXAMINE] = hf_redis_examine,
    };

    assert(task->req->op != HF_NOTHING);
    verbs[task->req->op](redis, task);
}

/* To be asked again, before all that was not asked yet, in the same order. */
static void again(struct hf_redis *redis, struct hf_redis_task *task)
{
    struct hf_req *req = task->req;

    task_free(redis, task);
    hf_requests_append(&redis->repeat, req);
}

static bool fault(struct hf_redis *redis, struct hf_redis_task *task,
                  const redisReply *reply)
{
    enum hf_redis_script script = task->script;

    switch (hf_redis_fault(redis, reply)) {
    case HF_REDIS_FINE:
        return false;
    case HF_REDIS_NO_SCRIPT:
        again(redis, task);
        hf_redis_script_load(redis, script);
        break;
    case HF_REDIS_AGAIN:
        hf_redis_finish(redis, task, HF_EDOWN);
        hf_redis_link_break(redis, NULL);
        break;
    case HF_REDIS_DENIED:
        hf_redis_finish(redis, task, HF_EDENIED);
        break;
    case HF_REDIS_FAILED:
        hf_redis_finish(redis, task, HF_ESTORE);
        break;
    }
    return true;
}

bool hf_redis_answered(struct hf_redis *redis, struct hf_redis_task *task,
                       const redisReply *reply, int *code)
{
    if (reply == NULL) {
        hf_redis_finish(redis, task, HF_EDOWN);
        return false;
    }
    if (fault(redis, task, reply))
        return false;
    *code = (int)hf_redis_number(reply, 0);
    switch (*code) {
    case HF_REDIS_EPOCH:
        again(redis, task);
        hf_redis_session_again(redis);
        return false;
    case HF_REDIS_GONE:
        hf_redis_finish(redis, task, HF_EDOWN);
        if (redis->link.phase == HF_REDIS_READY)
            hf_redis_session_restart(redis);
        return false;
    case HF_REDIS_STALE:
        hf_redis_finish(redis, task, HF_EDOWN);
        hf_redis_link_break(redis, "has a newer connection of ours");
        return false;
    default:
        return true;
    }
}
