/* mend.c - the server has lost data: put our places down again, with their numbers.
 *
 * Those that we have given up meanwhile are not among them, so the server forgets them,
 * should it still have them.  Of those whose ENTER was never answered we know only the
 * ids: they stay, if they are there.
 */
#include "store/redis/inner.h"

#include <stdio.h>

static void add_place(struct hf_redis *redis, const struct hf_served_place *place)
{
    char slot[16];

    snprintf(slot, sizeof slot, "%d", place->slot);
    hf_redis_add_number(redis, place->id);
    hf_redis_add(redis, place->granted ? "g" : "w");
    hf_redis_add_seq(redis, place->seq);
    hf_redis_add_number(redis, place->shape.weight);
    hf_redis_add(redis, slot);
    hf_redis_add_number(redis, (uint64_t)place->since);
    hf_redis_add_kind(redis, &place->shape);
    hf_redis_add(redis, place->name);
    hf_redis_add(redis, place->note);
}

static void on_mended(struct hf_redis *redis, void *data, const redisReply *reply)
{
    int code;

    (void)data;
    if (!hf_redis_session_answered(redis, reply, HF_REDIS_MEND, &code))
        return;
    if (code == HF_REDIS_UNKNOWN)
        hf_redis_mend(redis);
    else if (code == HF_REDIS_DONE)
        hf_redis_mended(redis);
    else if (code == HF_REDIS_GONE) /* too late */
        hf_redis_session_restart(redis);
    else
        hf_redis_link_break(redis, "lost its data once more");
}

/* In the order of the buckets, as the claims. */
void hf_redis_mend(struct hf_redis *redis)
{
    hf_redis_script(redis, HF_REDIS_MEND, hf_redis_each_claim(redis, NULL));
    hf_redis_each_claim(redis, hf_redis_add_claim_key);
    hf_redis_add_who(redis);
    for (size_t i = 0; i < HF_SERVED_BUCKETS; i++)
        for (struct hf_served_place *at = redis->served.place[i]; at != NULL;
             at = at->next)
            if (!at->leaving && !at->away)
                add_place(redis, at);
    hf_redis_send(redis, &redis->session.call, on_mended, NULL);
}
