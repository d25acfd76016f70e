/* sentinel_tokens.c - a master that was replaced goes on for a while.  The tokens that it gives out
 * then are lower than all of the new master, also those of places that were taken there
 * before. */
/* needs: pair --sentinels 3 --quorum 2 */
#include "lib/promise.h"
#include "lib/server_redis.h"

#include <poll.h>
#include <stdio.h>

#define TTL_MS 6000 /* a client asks the Sentinels every third of it */
#define SOON   1000 /* ms: less than that */

static void open_by_sentinel(struct actor *actor, const char *name)
{
    char url[256];

    snprintf(url, sizeof url, "redis+sentinel://%s/holdfast?ttl=%dms",
             redis_other("SENTINELS"), TTL_MS);
    actor_open_url(actor, url, name);
}

static void await_place(const struct actor *actor)
{
    hf_time end = hf_now() + ACTOR_LIMIT_MS * HF_MS;

    while (hf_ahead(actor->lock) < 0) {
        assert_true(hf_now() < end);
        poll(NULL, 0, 2);
    }
}

/* `old` is at the old master until it asks the Sentinels again; `early` is a client that begins at
 * the new one, where nothing is granted yet. */
static void tokens_rise_from_the_old_master_to_the_new(void **state)
{
    static struct actor old, early;

    (void)state;
    open_by_sentinel(&old, "a");
    actor_take(&old);
    assert_int_equal(hf_check(old.lock, ACTOR_LIMIT_MS), 0); /* asks the Sentinels */
    hf_time asked = hf_now();
    actor_give(&old);
    server_tell("failover");
    open_by_sentinel(&early, "a");
    actor_start(&early);
    await_place(&early);
    poll(NULL, 0, 20); /* so that the old master's clock is ahead of that place */

    int r = actor_acquire(&old, SOON);
    if (r != 0 || hf_now() > asked + TTL_MS / 3 * HF_MS) { /* a busy machine */
        print_message("# the failover took too long: %s\n", hf_errname(r));
        actor_close(&early);
        actor_close(&old);
        skip();
    }
    uint64_t last = hf_token(old.lock);
    actor_give(&old);
    actor_await(&early, HF_HELD);
    print_message("# %llu after %llu\n", (unsigned long long)hf_token(early.lock),
                  (unsigned long long)last);
    assert_true(hf_token(early.lock) > last);
    actor_give(&early);
    actor_close(&early);
    actor_close(&old);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_rise_from_the_old_master_to_the_new),
    };

    server_find();
    redis_other("SENTINELS");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
