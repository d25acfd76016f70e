/* enter.c - ENTER, READ, AMEND and LEAVE: the own place, from beginning to end. */
#include "store/redis/inner.h"

#include <string.h>

/* For an answer: what news of the place it will have taken into account. */
static void remember_news(struct hf_redis *redis, struct hf_redis_task *task)
{
    const struct hf_redis_place *place = hf_redis_place_find(redis, task->req->id);

    task->news = place != NULL ? place->news : 0;
    task->asks = place != NULL ? place->asks : 0;
}

static void on_shown(struct hf_redis *redis, void *data, const redisReply *reply)
{
    struct hf_redis_task *task = data;
    int                   code;

    if (hf_redis_answered(redis, task, reply, &code))
        hf_redis_show(redis, task, reply);
}

/* ---- ENTER ----------------------------------------------------------------------------------- */

static void on_mismatch(struct hf_redis *redis, struct hf_redis_task *task)
{
    hf_redis_fail(redis, task, HF_EMISMATCH,
                  "others use \"%.100s\" as another kind of lock", task->req->name);
}

static void on_entered(struct hf_redis *redis, void *data, const redisReply *reply)
{
    struct hf_redis_task *task = data;
    int                   code;

    if (!hf_redis_answered(redis, task, reply, &code))
        return;
    if (code == HF_REDIS_DONE) {
        hf_redis_show(redis, task, reply);
        return;
    }
    hf_redis_place_drop(redis, task->req->id);
    if (code == HF_REDIS_MISMATCH)
        on_mismatch(redis, task);
    else
        hf_redis_fail(redis, task, HF_EFULL, "%u wait for \"%.100s\" already",
                      task->req->limit, task->req->name);
}

void hf_redis_enter(struct hf_redis *redis, struct hf_redis_task *task)
{
    const struct hf_req *req = task->req;

    if (hf_redis_place_find(redis, req->id) == NULL &&
        hf_redis_place_new(redis, req) == NULL) {
        hf_redis_fail(redis, task, HF_ENOMEM, "out of memory");
        return;
    }
    remember_news(redis, task);
    hf_redis_script(redis, task->script = HF_REDIS_ENTER, req->shape.claim);
    if (req->shape.claim)
        hf_redis_add_claim(redis, req->name);
    hf_redis_add_who(redis);
    hf_redis_add_number(redis, req->id);
    hf_redis_add(redis, req->name);
    hf_redis_add_number(redis, req->shape.weight);
    hf_redis_add_kind(redis, &req->shape);
    hf_redis_add(redis, req->only_free ? "1" : "0");
    hf_redis_add_number(redis, req->limit);
    hf_redis_add(redis, req->note != NULL ? req->note : "");
    hf_redis_task_send(redis, task, on_entered);
}

/* ---- READ ------------------------------------------------------------------------------------- */

/* A message said that it is granted, and to have it alone means that nobody is ahead:
 * there is nothing to ask. */
static bool is_known(const struct hf_redis *redis, const struct hf_redis_place *place)
{
    return place != NULL && place->told && place->seq != 0 && !place->away &&
           place->asks == 0 && place->shape.weight == place->shape.capacity &&
           redis->config.replicas == 0;
}

void hf_redis_look(struct hf_redis *redis, struct hf_redis_task *task)
{
    struct hf_redis_place *place = hf_redis_place_find(redis, task->req->id);

    if (is_known(redis, place)) {
        place->told = false;
        place->read = place->news;
        hf_redis_show_place(redis, task, place);
        return;
    }
    remember_news(redis, task);
    hf_redis_script(redis, task->script = HF_REDIS_READ, 0);
    hf_redis_add_who(redis);
    hf_redis_add_number(redis, task->req->id);
    hf_redis_add(redis, task->req->name);
    hf_redis_add(redis,
                 redis->config.replicas > 0 && place != NULL && !place->safe ? "1" : "0");
    hf_redis_task_send(redis, task, on_shown);
}

/* ---- AMEND ------------------------------------------------------------------------------------ */

void hf_redis_amend(struct hf_redis *redis, struct hf_redis_task *task)
{
    remember_news(redis, task);
    hf_redis_script(redis, task->script = HF_REDIS_AMEND, 0);
    hf_redis_add_who(redis);
    hf_redis_add_number(redis, task->req->id);
    hf_redis_add(redis, task->req->name);
    hf_redis_add_number(redis, task->req->shape.weight);
    hf_redis_task_send(redis, task, on_shown);
}

/* ---- LEAVE ------------------------------------------------------------------------------------ */

static void on_left(struct hf_redis *redis, void *data, const redisReply *reply)
{
    struct hf_redis_task *task = data;
    int                   code;

    if (!hf_redis_answered(redis, task, reply, &code))
        return;
    hf_redis_place_drop(redis, task->req->id);
    if (hf_redis_number(reply, 1) != 0)
        hf_redis_fail(redis, task, HF_ELOST, "\"%.100s\" had been taken away from us",
                      task->req->name);
    else
        hf_redis_finish(redis, task, 0);
}

void hf_redis_leave(struct hf_redis *redis, struct hf_redis_task *task)
{
    struct hf_redis_place *place = hf_redis_place_find(redis, task->req->id);
    bool                   claim = place == NULL || place->shape.claim;

    if (place != NULL)
        place->leaving = true;
    hf_redis_script(redis, task->script = HF_REDIS_LEAVE, claim);
    if (claim)
        hf_redis_add_claim(redis, task->req->name);
    hf_redis_add_who(redis);
    hf_redis_add_number(redis, task->req->id);
    hf_redis_add(redis, task->req->name);
    hf_redis_task_send(redis, task, on_left);
}
