/* canary.c - scripts that do nothing, but survive when our data are lost.
 *
 * FLUSHALL does not delete scripts.  So a script with our namespace in its text tells
 * later clients that the namespace was in use.  There is one for each length of lease,
 * from 2^9 to 2^22 ms, so it also tells how long a lease may still last.  Only without
 * any canary do missing data mean that the namespace is new.  Read-only clients load
 * none.
 *
 * A client loads its canary before it can be granted anything.  It looks for others after
 * the epoch has begun that it wants to judge (scripts/hello.lua), and before it loads its
 * own.  So what it misses cannot have been there before that epoch.
 */
#include "store/redis/inner.h"

#include <assert.h>
#include <stdio.h>

#define SHORTEST 9 /* lease, as a power of two in ms */

static void text_of(const struct hf_redis *redis, int length, char *ret, size_t size)
{
    int used = snprintf(ret, size, "return 'holdfast:%s:%d:%d'", redis->config.prefix,
                        redis->config.db, length);

    assert(length >= SHORTEST && length < SHORTEST + HF_REDIS_CANARIES);
    assert(used > 0 && (size_t)used < size); /* a shorter text would be another script */
}

static int length_of(hf_time ttl)
{
    int length = SHORTEST;

    assert(ttl > 0);
    while (length < SHORTEST + HF_REDIS_CANARIES - 1 && (HF_MS << length) < ttl)
        length++;
    return length;
}

void hf_redis_canaries_init(struct hf_redis *redis)
{
    char text[HF_REDIS_PREFIX + 64];

    for (int i = 0; i < HF_REDIS_CANARIES; i++) {
        text_of(redis, SHORTEST + i, text, sizeof text);
        hf_redis_sha1(text, redis->canary[i]);
    }
}

void hf_redis_canary_load(struct hf_redis *redis)
{
    char text[HF_REDIS_PREFIX + 64];

    text_of(redis, length_of(redis->config.ttl), text, sizeof text);
    hf_redis_load(redis, text);
}

void hf_redis_canaries_ask(struct hf_redis *redis, struct hf_redis_call *call,
                           hf_redis_on_reply *on_reply, void *data)
{
    const char *argv[2 + HF_REDIS_CANARIES] = { "SCRIPT", "EXISTS" };

    for (int i = 0; i < HF_REDIS_CANARIES; i++)
        argv[2 + i] = redis->canary[i];
    hf_redis_conn_call(redis, &redis->link.conn, call, 2 + HF_REDIS_CANARIES, argv, NULL,
                       on_reply, data);
}

hf_time hf_redis_canary_longest(const redisReply *reply)
{
    hf_time longest = 0;

    for (size_t i = 0; i < HF_REDIS_CANARIES; i++)
        if (hf_redis_number(reply, i) == 1)
            longest = HF_MS << (SHORTEST + i);
    return longest;
}

static void on_canaries(struct hf_redis *redis, void *data, const redisReply *reply)
{
    int first;

    (void)data;
    if (hf_redis_session_answered(redis, reply, HF_REDIS_HELLO, &first))
        hf_redis_hello_found(redis, hf_redis_canary_longest(reply));
}

void hf_redis_canaries_seek(struct hf_redis *redis)
{
    assert(redis->remote.dial->phase == HF_DIAL_GREETING && redis->session.blank);
    hf_redis_canaries_ask(redis, &redis->session.call, on_canaries, NULL);
}
