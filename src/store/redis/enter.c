/* enter.c - ENTER, READ, AMEND and LEAVE: the own place, from beginning to end. */
#include "store/redis/inner.h"

#include <string.h>

/* { 0, last, state, seq, slot, since, weight, ahead, nearest, patience, asked }, of which
 * ENTER leaves out what is as asked if nobody else is there, or
 * { 0, last, 'r', nearest, patience }, or { 0, last, '-' } */
static struct hf_served_answer parse(const redisReply *reply, uint32_t weight)
{
    const char             *state = hf_redis_text(reply, 2);
    struct hf_served_answer answer = { .state = state != NULL ? state[0] : '-',
                                       .stamp = (uint64_t)hf_redis_number(reply, 1) };

    if (answer.state == 'r') {
        answer.nearest = (uint64_t)hf_redis_number(reply, 3);
        answer.patience = hf_redis_time(reply, 4) / 1000;
        return answer;
    }
    answer.seq = (uint64_t)hf_redis_number(reply, 3);
    answer.slot = (int)hf_redis_number(reply, 4);
    answer.since = hf_redis_number(reply, 5);
    answer.weight = reply->elements > 6 ? (uint32_t)hf_redis_number(reply, 6) : weight;
    answer.ahead = (uint64_t)hf_redis_number(reply, 7);
    answer.nearest = (uint64_t)hf_redis_number(reply, 8);
    answer.patience = hf_redis_time(reply, 9) / 1000;
    answer.asked = hf_redis_text(reply, 10);
    return answer;
}

static void show(struct hf_redis *redis, struct hf_served_task *task,
                 const redisReply *reply)
{
    struct hf_served_answer answer = parse(reply, task->base.req->shape.weight);
    struct hf_served_place *place = hf_served_take(task, &answer);

    if (redis->config.replicas > 0 && place != NULL && place->granted && !place->safe)
        hf_redis_replicas_wait(redis, task);
    else
        hf_served_show(task, &answer);
}

static void on_shown(struct hf_redis *redis, void *data, const redisReply *reply)
{
    struct hf_served_task *task = data;
    int                    code;

    if (hf_redis_answered(redis, task, reply, &code))
        show(redis, task, reply);
}

/* ---- ENTER ----------------------------------------------------------------------------------- */

static void on_entered(struct hf_redis *redis, void *data, const redisReply *reply)
{
    struct hf_served_task *task = data;
    int                    code;

    if (!hf_redis_answered(redis, task, reply, &code))
        return;
    if (code == HF_REDIS_DONE) {
        show(redis, task, reply);
        return;
    }
    hf_served_not_entered(task, code == HF_REDIS_MISMATCH);
}

void hf_redis_enter(struct hf_served *served, struct hf_served_task *task)
{
    struct hf_redis     *redis = (struct hf_redis *)served;
    const struct hf_req *req = task->base.req;

    if (!hf_served_enter(task))
        return;
    hf_redis_script(redis, task->script = HF_REDIS_ENTER, req->shape.claim);
    if (req->shape.claim)
        hf_redis_add_claim(redis, req->name);
    hf_redis_add_owner(redis, req->id);
    hf_redis_add(redis, req->name);
    hf_redis_add_number(redis, req->shape.weight);
    hf_redis_add_kind(redis, &req->shape);
    if (req->only_free)
        hf_redis_add(redis, "-1");
    else
        hf_redis_add_number(redis, req->limit);
    hf_redis_add(redis, req->note != NULL ? req->note : "");
    hf_redis_add_secret(redis, hf_served_place_find(served, req->id));
    hf_redis_task_send(redis, task, on_entered);
}

/* ---- READ ------------------------------------------------------------------------------------- */

void hf_redis_look(struct hf_served *served, struct hf_served_task *task)
{
    struct hf_redis        *redis = (struct hf_redis *)served;
    struct hf_served_place *place =
        hf_served_place_find(&redis->served, task->base.req->id);

    if (redis->config.replicas == 0 && hf_served_show_known(task))
        return;
    hf_served_remember_news(task);
    hf_redis_script(redis, task->script = HF_REDIS_READ, 0);
    hf_redis_add_owner(redis, task->base.req->id);
    hf_redis_add(redis, task->base.req->name);
    hf_redis_add(redis,
                 redis->config.replicas > 0 && place != NULL && !place->safe ? "1" : "0");
    hf_redis_task_send(redis, task, on_shown);
}

/* ---- AMEND ------------------------------------------------------------------------------------ */

void hf_redis_amend(struct hf_served *served, struct hf_served_task *task)
{
    struct hf_redis *redis = (struct hf_redis *)served;

    hf_served_remember_news(task);
    hf_redis_script(redis, task->script = HF_REDIS_AMEND, 0);
    hf_redis_add_owner(redis, task->base.req->id);
    hf_redis_add(redis, task->base.req->name);
    hf_redis_add_number(redis, task->base.req->shape.weight);
    hf_redis_task_send(redis, task, on_shown);
}

/* ---- LEAVE ------------------------------------------------------------------------------------ */

static void on_left(struct hf_redis *redis, void *data, const redisReply *reply)
{
    struct hf_served_task *task = data;
    int                    code;

    if (!hf_redis_answered(redis, task, reply, &code))
        return;
    hf_served_left(task, hf_redis_number(reply, 1) != 0);
}

void hf_redis_leave(struct hf_served *served, struct hf_served_task *task)
{
    struct hf_redis        *redis = (struct hf_redis *)served;
    struct hf_served_place *place = hf_served_leave(task);
    bool                    claim = place == NULL || place->shape.claim;

    hf_redis_script(redis, task->script = HF_REDIS_LEAVE, claim);
    if (claim)
        hf_redis_add_claim(redis, task->base.req->name);
    hf_redis_add_owner(redis, task->base.req->id);
    hf_redis_add(redis, task->base.req->name);
    hf_redis_task_send(redis, task, on_left);
}
