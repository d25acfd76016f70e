/* reach.c - BREAK, ASK and PROVE: places of others, and whether a place is there. */
#include "store/redis/inner.h"

static void on_reached(struct hf_redis *redis, void *data, const redisReply *reply)
{
    struct hf_served_task *task = data;
    int                    code;

    if (hf_redis_answered(redis, task, reply, &code))
        hf_served_reached(task, code == HF_REDIS_DONE);
}

static void reach(struct hf_redis *redis, struct hf_served_task *task, const char *verb,
                  uint64_t seq)
{
    const struct hf_req *req = task->base.req;

    hf_redis_script(redis, task->script = HF_REDIS_REACH, 1);
    hf_redis_add_claim(redis, req->name);
    hf_redis_add_who(redis);
    hf_redis_add(redis, verb);
    hf_redis_add(redis, req->name);
    hf_redis_add_seq(redis, seq);
    hf_redis_add(redis, req->note != NULL ? req->note : "");
    hf_redis_task_send(redis, task, on_reached);
}

void hf_redis_reach(struct hf_served *served, struct hf_served_task *task)
{
    struct hf_redis     *redis = (struct hf_redis *)served;
    const struct hf_req *req = task->base.req;

    if (req->token != 0 && req->token != req->seq) /* here they are the same */
        hf_served_reached(task, false);
    else
        reach(redis, task, req->op == HF_BREAK ? "break" : "ask", req->seq);
}

/* ---- PROVE ------------------------------------------------------------------------------------ */

static void on_proven(struct hf_redis *redis, void *data, const redisReply *reply)
{
    struct hf_served_task *task = data;
    const char            *state = hf_redis_text(reply, 2);
    int                    code;

    if (!hf_redis_answered(redis, task, reply, &code))
        return;
    hf_served_proven(task, state != NULL ? state[0] : '-');
}

/* The own place: a renewal, and a look right behind it. */
void hf_redis_prove(struct hf_served *served, struct hf_served_task *task)
{
    struct hf_redis *redis = (struct hf_redis *)served;
    if (task->base.req->id == 0) {
        reach(redis, task, "prove", task->base.req->token);
        return;
    }
    hf_redis_renew(redis);
    hf_redis_script(redis, task->script = HF_REDIS_READ, 0);
    hf_redis_add_owner(redis, task->base.req->id);
    hf_redis_add(redis, task->base.req->name);
    hf_redis_add(redis, "1");
    hf_redis_task_send(redis, task, on_proven);
}
