/* sentinel_break.c - a holder is broken at a master that was replaced and does not know it yet.
 *
 * The holder is at the new master already, so no server tells it.  Without replicas= the
 * break is undone: the client that was granted the lock meanwhile loses it.  With
 * replicas=1 the break fails, and nobody is granted the lock. */
/* needs: pair --sentinels 3 --quorum 2 */
#include "lib/promise.h"
#include "lib/server_redis.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#define HOLDER_MS 1500  /* ttl: a client asks the Sentinels every third of it */
#define OTHERS_MS 12000 /* so these go to the new master long after the holder */

struct stage {
    const char  *name, *option;
    struct actor holder, waiter, breaker;
};

static void open_by_sentinel(struct actor *actor, const struct stage *stage, int ttl_ms)
{
    char url[256];

    snprintf(url, sizeof url, "redis+sentinel://%s/holdfast?ttl=%dms%s",
             redis_other("SENTINELS"), ttl_ms, stage->option);
    actor_open_url(actor, url, stage->name);
}

/* How many holders have come back to this server: reclaim.lua marks them. */
static int came_back(int nth)
{
    const char *at = redis_ask_of(nth, "HVALS {holdfast}:state");
    int         count = 0;

    while ((at = strstr(at, "back ")) != NULL) {
        at++;
        count++;
    }
    return count;
}

static void await_waiter(const struct actor *waiter)
{
    hf_time end = hf_now() + ACTOR_LIMIT_MS * HF_MS;

    while (hf_ahead(waiter->lock) < 0) {
        assert_true(hf_now() < end);
        poll(NULL, 0, 2);
    }
}

static void set_up(struct stage *stage)
{
    struct hf_report *report;

    open_by_sentinel(&stage->waiter, stage, OTHERS_MS);
    actor_start(&stage->waiter);
    open_by_sentinel(&stage->breaker, stage, OTHERS_MS);
    await_waiter(&stage->waiter);
    assert_int_equal(hf_inspect(stage->breaker.client, stage->name, -1, &report), 0);
    hf_report_free(report);
}

static int break_holder(struct stage *stage)
{
    int r =
        hf_break(stage->breaker.client, stage->name, hf_token(stage->holder.lock), -1);

    print_message("# %s: %s: %s\n", stage->name, hf_errname(r),
                  r == 0 ? "" : hf_errmsg(stage->breaker.client));
    return r;
}

static void tear_down(struct stage *stage)
{
    actor_close(&stage->breaker);
    actor_close(&stage->waiter);
    actor_close(&stage->holder);
}

static void a_break_at_a_master_that_was_replaced(void **state)
{
    static struct stage plain = { .name = "plain", .option = "" };
    static struct stage careful = { .name = "careful", .option = "&replicas=1" };

    (void)state;
    open_by_sentinel(&plain.holder, &plain, HOLDER_MS);
    open_by_sentinel(&careful.holder, &careful, HOLDER_MS);
    actor_take(&plain.holder);
    actor_take(&careful.holder);
    hf_time asked = hf_now();
    set_up(&plain);
    set_up(&careful);
    server_tell("failover");
    while (came_back(2) < 2) {
        assert_true(hf_now() < asked + ACTOR_LIMIT_MS * HF_MS);
        poll(NULL, 0, 10);
    }
    if (hf_now() > asked + (OTHERS_MS / 3 - 500) * HF_MS) { /* a busy machine */
        tear_down(&plain);
        tear_down(&careful);
        skip();
    }

    assert_int_equal(break_holder(&plain), 0);
    actor_await(&plain.waiter, HF_HELD);
    assert_int_equal(break_holder(&careful), HF_ESTORE);
    assert_non_null(
        strstr(hf_errmsg(careful.breaker.client), "0 of 1 replicas have the break"));

    actor_await(&plain.waiter, HF_LOST);
    assert_true(careful.waiter.held == 0); /* its wait has failed, or goes on */
    assert_true(actor_has(&plain.holder) && actor_has(&careful.holder));
    actor_give(&plain.holder);
    actor_give(&careful.holder);
    tear_down(&plain);
    tear_down(&careful);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_break_at_a_master_that_was_replaced),
    };

    server_find();
    redis_other("SENTINELS");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
