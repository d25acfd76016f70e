/* task.c - how a request is put to the server, and what becomes of it when an answer
 * comes. */
#include "store/redis/inner.h"

void hf_redis_task_send(struct hf_redis *redis, struct hf_served_task *task,
                        hf_redis_on_reply *on_reply)
{
    task->flying = true;
    hf_redis_send(redis, &((struct hf_redis_task *)task)->call, on_reply, task);
}

static bool fault(struct hf_redis *redis, struct hf_served_task *task,
                  const redisReply *reply)
{
    enum hf_redis_script script = (enum hf_redis_script)task->script;

    switch (hf_redis_fault(redis, reply)) {
    case HF_REDIS_FINE:
        return false;
    case HF_REDIS_NO_SCRIPT:
        hf_task_again(&task->base);
        hf_redis_script_load(redis, script);
        break;
    case HF_REDIS_AGAIN:
        hf_task_finish(&task->base, HF_EDOWN);
        hf_dial_break(redis->dial, NULL);
        break;
    case HF_REDIS_DENIED:
        hf_task_finish(&task->base, HF_EDENIED);
        break;
    case HF_REDIS_FAILED:
        hf_task_finish(&task->base, HF_ESTORE);
        break;
    }
    return true;
}

bool hf_redis_answered(struct hf_redis *redis, struct hf_served_task *task,
                       const redisReply *reply, int *code)
{
    task->flying = false;
    if (reply == NULL) {
        hf_task_finish(&task->base, HF_EDOWN);
        return false;
    }
    if (fault(redis, task, reply))
        return false;
    *code = (int)hf_redis_number(reply, 0);
    switch (*code) {
    case HF_REDIS_EPOCH:
        hf_task_again(&task->base);
        hf_redis_session_again(redis);
        return false;
    case HF_REDIS_GONE:
        hf_task_finish(&task->base, HF_EDOWN);
        if (redis->dial->phase == HF_DIAL_READY)
            hf_redis_session_restart(redis);
        return false;
    case HF_REDIS_STALE:
        hf_task_finish(&task->base, HF_EDOWN);
        hf_dial_break(redis->dial, "has a newer connection of ours");
        return false;
    default:
        return true;
    }
}
