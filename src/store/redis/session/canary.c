/* canary.c - scripts that do nothing, but survive when our data are lost.
 *
 * FLUSHALL does not delete scripts.  So a script with our namespace in its text tells
 * later clients that the namespace was in use.  There is one for each length of lease,
 * from 2^9 to 2^22 ms, so it also tells how long a lease may still last.  Only without
 * any canary do missing data mean that the namespace is new.  Read-only clients load
 * none.
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

hf_time hf_redis_canary_longest(const redisReply *reply)
{
    hf_time longest = 0;

    for (size_t i = 0; i < reply->elements && i < HF_REDIS_CANARIES; i++)
        if (reply->element[i]->integer == 1)
            longest = HF_MS << (SHORTEST + i);
    return longest;
}
