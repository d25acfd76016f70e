/* bye.c - the end of our session: others need not wait until its lease ends. */
#include "store/redis/inner.h"

#include <assert.h>
#include <poll.h>

#define FAREWELL (100 * HF_MS) /* how long close waits at most, if we hold anything */

struct farewell {
    struct hf_redis_call call;
    bool                 done;
};

static void say_bye(struct hf_redis *redis, struct farewell *farewell);

static void on_bye(struct hf_redis *redis, void *data, const redisReply *reply)
{
    struct farewell *farewell = data;

    if (hf_redis_fault(redis, reply) == HF_SERVED_MISSING) {
        hf_redis_script_load(redis, HF_REDIS_BYE);
        say_bye(redis, farewell);
    } else if (hf_redis_number(reply, 0) == HF_SERVED_DONE &&
               hf_redis_number(reply, 1) != 0) { /* there is more */
        say_bye(redis, farewell);
    } else {
        farewell->done = true;
    }
}

static void say_bye(struct hf_redis *redis, struct farewell *farewell)
{
    assert(!farewell->done && !farewell->call.flying);
    hf_redis_script(redis, HF_REDIS_BYE, hf_redis_each_claim(redis, NULL));
    hf_redis_each_claim(redis, hf_redis_add_claim_key);
    hf_redis_add_who(redis);
    hf_redis_each_claim(redis, hf_redis_add_claim_value);
    hf_redis_send(redis, &farewell->call, on_bye, farewell);
}

void hf_redis_bye(struct hf_redis *redis)
{
    struct hf_dial *dial = redis->remote.dial;
    struct farewell farewell = { .done = false };

    assert(redis->remote.closing);
    if (dial->phase != HF_DIAL_READY)
        return;
    say_bye(redis, &farewell);
    hf_dial_flush(dial);
    hf_time end = hf_now() + (redis->served.places > 0 ? FAREWELL : 0);
    while (dial->phase == HF_DIAL_READY && !farewell.done && hf_now() < end) {
        struct pollfd poll_fd = { .fd = dial->stream.fd,
                                  .events = (short)hf_stream_events(&dial->stream) };
        if (poll(&poll_fd, 1, hf_poll_ms(hf_now(), end)) > 0)
            hf_dial_run(dial, true);
        hf_dial_flush(dial);
    }
    hf_dial_close(dial);
    assert(!farewell.call.flying); /* it is on our stack */
}
