/* bye.c - the end of a session: of our own, so that others need not wait until its lease
 * ends, or of the one that a will is of.
 *
 * Bye is said until all is ended: a piece of the places at a time.  Claims have keys of
 * their own, which a script must be given before it runs.  Those that the server knows of
 * and was not given it names, and is given them with the next call.
 */
#include "store/redis/inner.h"

#include "base/name.h"

#include <assert.h>
#include <poll.h>
#include <string.h>

#define FAREWELL (100 * HF_MS) /* how long close waits at most, if we hold anything */
#define NAMES    2             /* of an answer: they begin there */
#define SOON     100000        /* microseconds in which we say bye again, if at all */

static void say_bye(struct hf_redis *redis, const redisReply *before);

/* There is more to end, or to be given first. */
static void say_bye_again(struct hf_redis *redis, const redisReply *before)
{
    for (size_t i = NAMES; i < before->elements; i++) {
        const char *name = hf_redis_text(before, i);
        if (name == NULL || strlen(name) > HF_NAME_MAX) {
            hf_dial_break(redis->remote.dial, "gives no answer that makes sense");
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
        if (redis->served.executes)
            hf_served_executed(&redis->served);
    } else {
        hf_dial_break(redis->remote.dial, "lost its data once more");
    }
}

/* `before`: the answer that asks for it once more, or NULL. */
static void say_bye(struct hf_redis *redis, const redisReply *before)
{
    size_t end = before != NULL ? before->elements : NAMES;

    assert(!redis->session.ended && end >= NAMES);
    hf_redis_script(redis, HF_REDIS_BYE, hf_redis_each_claim(redis, NULL) + end - NAMES);
    hf_redis_each_claim(redis, hf_redis_add_claim_key);
    for (size_t i = NAMES; i < end; i++)
        hf_redis_add_claim(redis, hf_redis_text(before, i));
    hf_redis_add_who(redis);
    if (!redis->served.executes)
        hf_redis_add_number(&redis->served, SOON);
    hf_redis_send(redis, &redis->session.bye, on_bye, NULL);
}

void hf_redis_execute(struct hf_redis *redis)
{
    assert(redis->served.executes && redis->remote.dial->phase == HF_DIAL_GREETING);
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
