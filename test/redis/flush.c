/* flush.c - the server's data go while a lock is held: all of them, or a part, or the
 * scripts.
 *
 * The holder keeps the lock, and nobody else is granted it meanwhile; or it is lost within
 * one renewal.  Never two holders; the next token is higher than all before; the waiter gets
 * it in the end.
 */
/* needs: standalone */
#include "lib/promise.h"
#include "lib/tcpproxy.h"
#include "lib/trio.h"
#include "lib/witness_redis.h"
#include "store/redis/inner.h"

#include <inttypes.h>
#include <poll.h>

#define TTL_MS 800

/* The holder has it until it lets go, or knows that it was lost within one renewal. */
static void see_it_through(struct trio *trio, hf_time struck)
{
    hf_time end = struck + (TTL_MS + TTL_MS / 2) * HF_MS;

    while (hf_now() < end && hf_state(trio->holder->lock) == HF_HELD) {
        if (hf_state(trio->waiter->lock) != HF_WAITING)
            fail_msg("the waiter's state is %d", hf_state(trio->waiter->lock));
        poll(NULL, 0, 2);
    }
    bool kept = hf_state(trio->holder->lock) == HF_HELD;
    if (!kept)
        assert_true(trio->holder->lost - struck < (TTL_MS / 3 + 300) * HF_MS);
    trio_end(trio, kept);
}

static void strike_and_see(const char *name, const char *first, const char *second)
{
    struct trio *trio = trio_new(name, TTL_MS);
    hf_time      struck = hf_now();

    redis_ask("%s", first);
    if (second != NULL)
        redis_ask("%s", second);
    see_it_through(trio, struck);
}

static void test_all_data_go(void **state)
{
    (void)state;
    strike_and_see("all", "FLUSHALL", NULL);
}

static void test_the_scripts_go(void **state)
{
    (void)state;
    strike_and_see("scripts", "SCRIPT FLUSH", NULL);
}

static void test_data_and_scripts_go(void **state)
{
    (void)state;
    strike_and_see("both", "SCRIPT FLUSH", "FLUSHALL");
}

static void test_data_go_twice(void **state)
{
    (void)state;
    strike_and_see("twice", "FLUSHALL", "FLUSHALL");
}

static void test_the_hash_goes(void **state)
{
    (void)state;
    strike_and_see("hash", "DEL {holdfast}:state", NULL);
}

static void test_the_order_goes(void **state)
{
    (void)state;
    strike_and_see("order", "DEL {holdfast}:order", NULL);
}

/* Before the holder has noticed, somebody comes who never saw the data. */
static void test_data_go_and_somebody_new_comes(void **state)
{
    struct trio        *trio = trio_new("new", TTL_MS);
    hf_time             struck = hf_now();
    static struct actor late;

    (void)state;
    redis_do("FLUSHALL");
    actor_open(&late, TTL_MS, trio->name);
    for (int i = 0; i < 20; i++) {
        int r = hf_acquire(late.lock, 0);
        if (r == 0 && actor_has(trio->holder) && actor_has(&late))
            fail_msg("two holders");
        if (r == 0)
            actor_give(&late);
    }
    actor_close(&late);
    see_it_through(trio, struck);
}

/* Alone with the holder: nobody else is there to see that data are missing, and the
 * newcomer has a shorter lease than the holder. */
static void test_data_go_and_somebody_new_is_alone_with_the_holder(void **state)
{
    static struct actor holder;

    (void)state;
    actor_open(&holder, 3 * TTL_MS, "flush-hasty");
    trio_token(actor_take(&holder));
    redis_do("FLUSHALL");
    trio_newcomer(&holder, "flush-hasty", 2 * TTL_MS);
}

/* Scripts go again and again while the lock goes round. */
static void test_scripts_go_while_the_lock_goes_round(void **state)
{
    static struct actor a, b;

    (void)state;
    actor_open(&a, TTL_MS, "flush-flight");
    actor_open(&b, TTL_MS, "flush-flight");
    for (int i = 0; i < 30; i++) {
        trio_token(actor_take(&a));
        assert_int_equal(hf_acquire_start(b.lock, ACTOR_LIMIT_MS), 0);
        redis_do("SCRIPT FLUSH");
        actor_give(&a);
        actor_await(&b, HF_HELD);
        trio_token(hf_token(b.lock));
        redis_do("SCRIPT FLUSH");
        actor_give(&b);
    }
    actor_close(&a);
    actor_close(&b);
    witness_empty();
}

/* The name of the script by which places are put down again. */
static const char *mend(void)
{
    static struct hf_redis redis;

    return hf_redis_script_sha(&redis, HF_REDIS_MEND);
}

/* Hello is answered, so the new epoch is known; but the connection breaks before the lock is
 * put down again. */
static void test_data_go_and_the_way_back_is_cut(void **state)
{
    static struct actor holder, late;
    struct tcpproxy    *proxy = tcpproxy_start(witness_server(), mend());
    hf_time             end = hf_now() + ACTOR_LIMIT_MS * HF_MS;

    (void)state;
    actor_open_at(&holder, tcpproxy_address(proxy), 4 * TTL_MS, "flush-cut");
    trio_token(actor_take(&holder));
    tcpproxy_hold(proxy, TCPPROXY_UP, TCPPROXY_MARKED);
    redis_do("FLUSHALL");
    while (tcpproxy_open(proxy, TCPPROXY_MARKED) == 0 && hf_now() < end)
        poll(NULL, 0, 1);
    assert_int_equal(witness_holders("flush-cut"), 0);
    tcpproxy_drop(proxy, TCPPROXY_MARKED);
    tcpproxy_hold(proxy, TCPPROXY_UP, TCPPROXY_NOBODY);
    witness_await("flush-cut", 1, 0);
    actor_open(&late, 4 * TTL_MS, "flush-cut");
    assert_int_equal(hf_acquire(late.lock, 0), HF_EBUSY);
    actor_give(&holder);
    trio_token(actor_take(&late));
    actor_give(&late);
    actor_close(&holder);
    actor_close(&late);
    tcpproxy_stop(proxy);
    witness_empty();
}

/* Nothing is held: the data of those who wait for nothing go, and all goes on. */
static void test_data_go_and_nothing_was_held(void **state)
{
    static struct actor a;

    (void)state;
    actor_open(&a, TTL_MS, "flush-idle");
    trio_token(actor_take(&a));
    actor_give(&a);
    for (int i = 0; i < 2; i++) {
        redis_do("FLUSHALL");
        trio_token(actor_take(&a));
        actor_give(&a);
    }
    actor_close(&a);
    witness_empty();
}

/* The server's clock was set back, so tokens are far ahead of it; and the client that comes back
 * first is not the one that had the highest. */
static void test_data_go_and_the_clock_is_behind_the_tokens(void **state)
{
    static struct actor a, b;

    (void)state;
    actor_open(&a, TTL_MS, "flush-clock");
    actor_open(&b, TTL_MS, "flush-clock");
    trio_token(actor_take(&a));
    actor_give(&a);
    for (int i = 0; i < 3; i++) {
        redis_ask("HSET {holdfast}:state last %" PRId64,
                  hf_wall_us() + (i + 1) * (int64_t)86400 * 1000000);
        trio_token(actor_take(&a));
        actor_give(&a);
        for (int j = 0; j < 5; j++) {
            trio_token(actor_take(&b));
            actor_give(&b);
        }
        redis_do("FLUSHALL");
        trio_token(actor_take(&a));
        actor_give(&a);
    }
    actor_close(&a);
    actor_close(&b);
    witness_empty();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_data_go),
        cmocka_unit_test(test_the_scripts_go),
        cmocka_unit_test(test_data_and_scripts_go),
        cmocka_unit_test(test_data_go_twice),
        cmocka_unit_test(test_the_hash_goes),
        cmocka_unit_test(test_the_order_goes),
        cmocka_unit_test(test_data_go_and_somebody_new_comes),
        cmocka_unit_test(test_data_go_and_somebody_new_is_alone_with_the_holder),
        cmocka_unit_test(test_scripts_go_while_the_lock_goes_round),
        cmocka_unit_test(test_data_go_and_the_way_back_is_cut),
        cmocka_unit_test(test_data_go_and_nothing_was_held),
        cmocka_unit_test(test_data_go_and_the_clock_is_behind_the_tokens),
    };

    witness_start();
    redis_settle(TTL_MS); /* now nobody would think that it was just started */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
