/* answer.c - what ENTER, READ and AMEND are answered.
 *
 * The server has decided who is granted, so the snapshot need not prove it: it shows our
 * place alone if it is granted, and else one place more, that stands for all ahead of it
 * together.
 */
#include "store/redis/inner.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static struct hf_ticket in_the_way(uint64_t seq, const struct hf_shape *shape)
{
    struct hf_shape all = { .weight = shape->capacity,
                            .capacity = shape->capacity,
                            .claim = shape->claim };

    return (struct hf_ticket){ .seq = seq, .token = seq, .shape = all, .slot = -1 };
}

static struct hf_ticket own_ticket(const struct hf_redis_place *place)
{
    return (struct hf_ticket){ .seq = place->seq,
                               .token = place->seq,
                               .shape = place->shape,
                               .slot = place->slot,
                               .since = place->since };
}

static void give(struct hf_redis *redis, struct hf_redis_task *task,
                 const struct hf_ticket *ticket, size_t count, size_t me)
{
    task->req->snapshot = (struct hf_line){ .ticket = ticket, .count = count };
    task->req->me = me;
    hf_redis_finish(redis, task, 0);
}

/* Not in line: what is in the way of one of that shape, if anything is. */
static void give_no_place(struct hf_redis *redis, struct hf_redis_task *task,
                          const redisReply *reply, bool refused)
{
    struct hf_ticket ahead =
        in_the_way((uint64_t)hf_redis_number(reply, 3), &task->req->shape);

    task->req->stamp = (uint64_t)hf_redis_number(reply, 1);
    if (refused)
        hf_redis_look_in(redis, hf_redis_number(reply, 4));
    give(redis, task, &ahead, refused, refused);
}

void hf_redis_show_place(struct hf_redis *redis, struct hf_redis_task *task,
                         const struct hf_redis_place *place)
{
    struct hf_ticket own = own_ticket(place);

    give(redis, task, &own, 1, 0);
}

/* { 0, changes, state, seq, slot, since, weight, ahead, nearest, patience, asked } */
static void take(struct hf_redis *redis, struct hf_redis_place *place,
                 const redisReply *reply)
{
    bool granted = hf_redis_text(reply, 2)[0] == 'g';

    place->seq = (uint64_t)hf_redis_number(reply, 3);
    if (place->seq > redis->session.token)
        redis->session.token = place->seq;
    place->shape.weight = (uint32_t)hf_redis_number(reply, 6);
    if (granted) { /* else a message may have overtaken this answer */
        place->granted = true;
        place->told = false;
        place->slot = (int)hf_redis_number(reply, 4);
        place->since = hf_redis_number(reply, 5);
    }
}

void hf_redis_show(struct hf_redis *redis, struct hf_redis_task *task,
                   const redisReply *reply)
{
    struct hf_req         *req = task->req;
    struct hf_redis_place *place = hf_redis_place_find(redis, req->id);
    const char            *state = hf_redis_text(reply, 2);

    if (state == NULL) {
        hf_redis_fail(redis, task, HF_ECORRUPT,
                      "Redis gives an answer about \"%.100s\" that makes no sense",
                      req->name);
        return;
    }
    if (place == NULL || state[0] == '-' || state[0] == 'r') {
        if (req->op == HF_ENTER)
            hf_redis_place_drop(redis, req->id);
        else if (place != NULL)
            place->away = true;
        give_no_place(redis, task, reply, state[0] == 'r');
        return;
    }
    take(redis, place, reply);
    req->stamp = (uint64_t)hf_redis_number(reply, 1);
    req->ahead = (uint64_t)hf_redis_number(reply, 7);
    if (redis->config.replicas > 0 && place->granted && !place->safe) {
        hf_redis_replicas_wait(redis, task);
        return;
    }
    place->read = task->news;
    place->asks -= task->asks;

    struct hf_ticket ticket[2] = {
        in_the_way((uint64_t)hf_redis_number(reply, 8), &place->shape),
        own_ticket(place),
    };
    ticket[1].asked = hf_redis_text(reply, 10);
    if (!place->granted)
        hf_redis_look_in(redis, hf_redis_number(reply, 9));
    give(redis, task, ticket + place->granted, 2 - (size_t)place->granted,
         !place->granted);
}
