/* bye.c - ends a session: our own, so that others need not wait until its lease runs
 * out, or the one that a session key names.
 *
 * Bye is repeated until all places are gone, a piece of them at a time.  Claims have
 * keys of their own, and a call must name all keys in advance.  If the server finds
 * claims whose keys were not named, it only returns their names, and the next bye names
 * them.
 */
#include "store/redis/inner.h"

#include "base/name.h"

#include <assert.h>
#include <poll.h>
#include <string.h>

#define FAREWELL (100 * HF_MS) /* how long close() waits at most, if we hold anything */
#define NAMES    2             /* part of an answer with the first name */
#define SOON     100000 /* microseconds: the rest of the lease, unless bye is repeated */

static void say_bye(struct hf_redis *redis, const redisReply *before);

/* There is more to end, or the server wants keys first. */
static void say_bye_again(struct hf_redis *redis, const redisReply *before)
{
    for (size_t i = NAMES; i < before->elements; i++) {
        const char *name = hf_redis_text(before, i);
        if (name == NULL || strlen(name) > HF_NAME_MAX) {
            hf_dial_break(redis->remote.dial, "sends an answer that makes no sense");
            return;
        }
    }
    say_bye(redis, before);
}

static void on_bye(struct hf_redis *redis, void *data, const redisReply *reply)
{
    int code;

    (void)data;
    if (!hf_redis_session_answered(redis, reply, HF_REDIS_BYE, &code))
        return;
    if (code == HF_REDIS_AGAIN) {
        say_bye(redis, NULL);
    } else if (code == HF_SERVED_DONE && hf_redis_number(reply, 1) != 0) {
        say_bye_again(redis, reply);
    } else if (code == HF_SERVED_DONE || code == HF_SERVED_GONE) {
        redis->session.ended = true;
        if (redis->served.only_ends)
            hf_served_ended(&redis->served);
    } else {
        hf_dial_break(redis->remote.dial, "has lost data again");
    }
}

/* `before`: the answer that asks for another bye, or NULL. */
static void say_bye(struct hf_redis *redis, const redisReply *before)
{
    size_t end = before != NULL ? before->elements : NAMES;

    assert(!redis->session.ended && end >= NAMES);
    hf_redis_script(redis, HF_REDIS_BYE, hf_redis_each_claim(redis, NULL) + end - NAMES);
    hf_redis_each_claim(redis, hf_redis_add_claim_key);
    for (size_t i = NAMES; i < end; i++)
        hf_redis_add_claim(redis, hf_redis_text(before, i));
    hf_redis_add_session(redis);
    if (!redis->served.only_ends)
        hf_redis_add_number(&redis->served, SOON);
    hf_redis_send(redis, &redis->session.bye, on_bye, NULL);
}

void hf_redis_end_by_key(struct hf_redis *redis)
{
    assert(redis->served.only_ends && redis->remote.dial->phase == HF_DIAL_GREETING);
    say_bye(redis, NULL);
}

void hf_redis_bye(struct hf_redis *redis)
{
    struct hf_dial *dial = redis->remote.dial;

    assert(redis->remote.closing);
    if (dial->phase != HF_DIAL_READY)
        return;
    say_bye(redis, NULL);
    hf_dial_flush(dial);
    hf_time end = hf_now() + (redis->served.places > 0 ? FAREWELL : 0);
    while (dial->phase == HF_DIAL_READY && !redis->session.ended && hf_now() < end) {
        struct pollfd poll_fd = { .fd = dial->stream.fd,
                                  .events = (short)hf_stream_events(&dial->stream) };
        if (poll(&poll_fd, 1, hf_poll_ms(hf_now(), end)) > 0)
            hf_dial_run(dial, true);
        hf_dial_flush(dial);
    }
}
