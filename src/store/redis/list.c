/* list.c - LIST: every place in one line, or in all. */
#include "store/redis/inner.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct hf_ticket *make_room(struct hf_redis *redis, size_t count)
{
    if (count <= redis->snapshot_room)
        return redis->snapshot;

    struct hf_ticket *grown = realloc(redis->snapshot, count * 2 * sizeof *grown);
    if (grown == NULL)
        return NULL;
    redis->snapshot_room = count * 2;
    return redis->snapshot = grown;
}

/* "<state> <seq> <weight> <slot> <since> <kind> <name>\n<note>", cut up where it is. */
static bool parse(char *text, struct hf_ticket *ret)
{
    char  state, claim = '\0';
    int   begin = 0;
    char *end = strchr(text, '\n');

    *ret = (struct hf_ticket){ 0 };
    if (end == NULL ||
        sscanf(text, "%c %" SCNu64 " %" SCNu32 " %d %" SCNd64 " %" SCNu32 "%c", &state,
               &ret->seq, &ret->shape.weight, &ret->slot, &ret->since,
               &ret->shape.capacity, &claim) != 7 ||
        sscanf(text, "%*c %*u %*u %*d %*d %*s %n", &begin) < 0 || begin == 0)
        return false;
    *end = '\0';
    ret->token = ret->seq;
    ret->shape.claim = claim == 'c';
    ret->line = text + begin;
    ret->note = end + 1;
    return true;
}

static int by_name_and_seq(const void *a, const void *b)
{
    const struct hf_ticket *x = a, *y = b;
    int                     r = strcmp(x->line, y->line);

    return r != 0 ? r : (x->seq > y->seq) - (x->seq < y->seq);
}

/* Somebody who knows nothing of lines has set the claim's key himself. */
static size_t add_foreign(const struct hf_req *req, int64_t left, struct hf_ticket *ret)
{
    if (left <= 0)
        return 0;
    *ret = (struct hf_ticket){ .shape = { .weight = 1, .capacity = 1, .claim = true },
                               .slot = -1,
                               .since = hf_wall_us(),
                               .line = req->name,
                               .note = "somebody who does not use Holdfast" };
    return 1;
}

/* { 0, changes, foreign, place ... } */
static void on_listed(struct hf_redis *redis, void *data, const redisReply *reply)
{
    struct hf_redis_task *task = data;
    struct hf_req        *req = task->req;
    int                   code;

    if (!hf_redis_answered(redis, task, reply, &code))
        return;
    struct hf_ticket *ticket = make_room(redis, reply->elements + 1);
    if (ticket == NULL) {
        hf_redis_fail(redis, task, HF_ENOMEM, "out of memory");
        return;
    }
    size_t count = add_foreign(req, hf_redis_number(reply, 2), ticket);
    for (size_t i = 3; i < reply->elements; i++)
        if (reply->element[i]->type == REDIS_REPLY_STRING &&
            parse(reply->element[i]->str, &ticket[count]))
            count++;
    if (count > 1)
        qsort(ticket, count, sizeof *ticket, by_name_and_seq);
    req->stamp = (uint64_t)hf_redis_number(reply, 1);
    req->snapshot = (struct hf_line){ .ticket = ticket, .count = count };
    req->me = count;
    hf_redis_finish(redis, task, 0);
}

void hf_redis_list(struct hf_redis *redis, struct hf_redis_task *task)
{
    const char *name = task->req->name;

    hf_redis_script(redis, task->script = HF_REDIS_LIST, name != NULL);
    if (name != NULL)
        hf_redis_add_claim(redis, name);
    hf_redis_add_who(redis);
    if (name != NULL)
        hf_redis_add(redis, name);
    hf_redis_task_send(redis, task, on_listed);
}
