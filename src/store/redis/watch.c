/* watch.c - tell the server that we want to hear of changes of a line. */
#include "store/redis/inner.h"

static void on_watching(struct hf_redis *redis, void *data, const redisReply *reply)
{
    struct hf_served_task *task = data;
    int                    code;

    if (!hf_redis_answered(redis, task, reply, &code))
        return;
    hf_redis_look_after(redis, hf_redis_time(reply, 2));
    if (hf_redis_time(reply, 3) > 0) /* whoever is in the way tells nobody */
        task->due = redis->remote.now + hf_redis_time(reply, 3) + HF_MS;
    hf_served_watching(task, hf_redis_number(reply, 1) != 0);
}

void hf_redis_watch_line(struct hf_served *served, struct hf_served_task *task)
{
    struct hf_redis     *redis = (struct hf_redis *)served;
    const struct hf_req *req = task->base.req;

    hf_redis_script(redis, HF_REDIS_WATCH, 1);
    task->script = HF_REDIS_WATCH;
    hf_redis_add_claim(redis, req->name);
    hf_redis_add_who(redis);
    hf_redis_add(redis, req->name);
    hf_redis_add_number(redis, req->stamp);
    for (size_t i = 0; i < req->count && req->id == 0; i++)
        hf_redis_add_seq(redis, req->seqs[i]);
    hf_redis_task_send(redis, task, on_watching);
}
