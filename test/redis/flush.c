/* flush.c - the server loses data while a lock is held: all, a part, or the scripts.
 *
 * The holder keeps the lock, and nobody else is granted it meanwhile; or the holder learns
 * within one renewal that it is lost.  Never two holders; the next token is higher than all
 * before; the waiter gets the lock in the end.
 */
/* needs: standalone */
#include "lib/promise.h"
#include "lib/server_redis.h"
#include "lib/tcpproxy.h"
#include "lib/three_clients.h"
#include "store/redis/inner.h"

#include <inttypes.h>
#include <poll.h>

#define TTL_MS 800

/* The holder keeps it until it releases it, or learns of the loss within one renewal. */
static void see_it_through(struct three_clients *three, hf_time struck)
{
    hf_time end = struck + (TTL_MS + TTL_MS / 2) * HF_MS;

    while (hf_now() < end && hf_state(three->holder->lock) == HF_HELD) {
        if (hf_state(three->waiter->lock) != HF_WAITING)
            fail_msg("the waiter's state is %d", hf_state(three->waiter->lock));
        poll(NULL, 0, 2);
    }
    bool kept = hf_state(three->holder->lock) == HF_HELD;
    if (!kept)
        assert_true(three->holder->lost - struck < (TTL_MS / 3 + 300) * HF_MS);
    three_clients_end(three, kept);
}

static void strike_and_see(const char *name, const char *first, const char *second)
{
    struct three_clients *three = three_clients_new(name, TTL_MS);
    hf_time               struck = hf_now();

    redis_ask("%s", first);
    if (second != NULL)
        redis_ask("%s", second);
    see_it_through(three, struck);
}

static void test_all_data_are_lost(void **state)
{
    (void)state;
    strike_and_see("all", "FLUSHALL", NULL);
}

static void test_the_scripts_are_flushed(void **state)
{
    (void)state;
    strike_and_see("scripts", "SCRIPT FLUSH", NULL);
}

static void test_data_and_scripts_are_lost(void **state)
{
    (void)state;
    strike_and_see("both", "SCRIPT FLUSH", "FLUSHALL");
}

static void test_data_are_lost_twice(void **state)
{
    (void)state;
    strike_and_see("twice", "FLUSHALL", "FLUSHALL");
}

static void test_the_hash_is_deleted(void **state)
{
    (void)state;
    strike_and_see("hash", "DEL {holdfast}:state", NULL);
}

static void test_the_sorted_set_is_deleted(void **state)
{
    (void)state;
    strike_and_see("order", "DEL {holdfast}:order", NULL);
}

/* Before the holder has noticed, a client comes that never saw the data. */
static void test_a_newcomer_after_lost_data(void **state)
{
    struct three_clients *three = three_clients_new("new", TTL_MS);
    hf_time               struck = hf_now();
    static struct actor   late;

    (void)state;
    redis_do("FLUSHALL");
    actor_open(&late, TTL_MS, three->name);
    for (int i = 0; i < 20; i++) {
        int r = actor_acquire(&late, 0);
        actors_watch(three->holder, 1, 0);
        if (r == 0)
            actor_give(&late);
    }
    actor_close(&late);
    see_it_through(three, struck);
}

/* There is no third client to notice the loss, and the newcomer's lease is shorter than the
 * holder's. */
static void test_a_newcomer_with_a_shorter_lease_after_lost_data(void **state)
{
    static struct actor holder;

    (void)state;
    actors_write();
    actor_open(&holder, 3 * TTL_MS, "flush-hasty");
    three_clients_token(actor_take(&holder));
    redis_do("FLUSHALL");
    three_clients_newcomer(&holder, "flush-hasty", 2 * TTL_MS);
}

/* It has looked around while the namespace was new, and asks for its first lock after another
 * client's lock was lost. */
static void test_a_newcomer_that_looked_before_the_first_lock(void **state)
{
    static struct actor holder, looker;
    struct hf_report   *report;

    (void)state;
    redis_do("SCRIPT FLUSH"); /* the namespace is new */
    redis_do("FLUSHALL");
    actors_write();
    actor_open(&looker, TTL_MS, "flush-looked");
    assert_int_equal(hf_inspect(looker.client, NULL, ACTOR_LIMIT_MS, &report), 0);
    hf_report_free(report);
    actor_open(&holder, 2 * TTL_MS, "flush-looked");
    actor_take(&holder);
    redis_do("FLUSHALL");
    three_clients_see_newcomer(&holder, &looker, TTL_MS);
}

static void test_scripts_are_flushed_during_hand_overs(void **state)
{
    static struct actor a, b;

    (void)state;
    actor_open(&a, TTL_MS, "flush-flight");
    actor_open(&b, TTL_MS, "flush-flight");
    for (int i = 0; i < 30; i++) {
        three_clients_token(actor_take(&a));
        actor_start(&b);
        redis_do("SCRIPT FLUSH");
        actor_give(&a);
        actor_await(&b, HF_HELD);
        three_clients_token(hf_token(b.lock));
        redis_do("SCRIPT FLUSH");
        actor_give(&b);
    }
    actor_close(&a);
    actor_close(&b);
    server_expect_empty();
}

/* The SHA1 of the script that reclaims places. */
static const char *reclaim_sha(void)
{
    static struct hf_redis redis;

    return hf_redis_script_sha(&redis, HF_REDIS_RECLAIM);
}

/* Hello is answered, so the client knows the new epoch; but the connection breaks before the
 * lock is reclaimed. */
static void test_the_connection_breaks_before_the_lock_is_reclaimed(void **state)
{
    static struct actor holder, late;
    struct tcpproxy    *proxy = tcpproxy_start(server_address(), reclaim_sha());
    hf_time             end = hf_now() + ACTOR_LIMIT_MS * HF_MS;

    (void)state;
    actor_open_at(&holder, tcpproxy_address(proxy), 4 * TTL_MS, "flush-cut");
    three_clients_token(actor_take(&holder));
    tcpproxy_hold(proxy, TCPPROXY_UP, TCPPROXY_MARKED);
    redis_do("FLUSHALL");
    while (tcpproxy_open(proxy, TCPPROXY_MARKED) == 0 && hf_now() < end)
        poll(NULL, 0, 1);
    assert_int_equal(server_holders("flush-cut"), 0);
    tcpproxy_drop(proxy, TCPPROXY_MARKED);
    tcpproxy_hold(proxy, TCPPROXY_UP, TCPPROXY_NOBODY);
    server_await("flush-cut", 1, 0);
    actor_open(&late, 4 * TTL_MS, "flush-cut");
    assert_int_equal(actor_acquire(&late, 0), HF_EBUSY);
    actor_give(&holder);
    three_clients_token(actor_take(&late));
    actor_give(&late);
    actor_close(&holder);
    actor_close(&late);
    tcpproxy_stop(proxy);
    server_expect_empty();
}

static struct hf_client *open_without_keeper(const char *name, struct hf_lock **ret)
{
    struct hf_options options = HF_OPTIONS_INIT;
    struct hf_client *client;

    options.flags = HF_NO_KEEPER;
    options.ttl_ms = 3 * TTL_MS;
    assert_int_equal(hf_open(server_url(""), &options, &client), 0);
    assert_int_equal(hf_mutex(client, name, ret), 0);
    return client;
}

/* Drive the client until its lock is in this state, and so many are subscribed. */
static void drive_until(struct hf_client *client, const struct hf_lock *lock,
                        enum hf_state state, int subscribed)
{
    hf_time end = hf_now() + 4 * TTL_MS * HF_MS;

    do {
        assert_true(hf_process(client) >= 0);
        poll(NULL, 0, 1);
    } while (hf_now() < end &&
             (hf_state(lock) != state ||
              redis_number("EVAL \"return #redis.call('PUBSUB', 'CHANNELS', "
                           "'{holdfast}:wake:*')\" 0") < subscribed));
    assert_int_equal(hf_state(lock), state);
}

/* The holder does nothing while its lock is broken, another client is granted it, and all
 * data and connections are lost.  Then it is the first to come back. */
static void test_a_lock_was_broken_before_data_were_lost(void **state)
{
    static struct actor other;
    struct hf_lock     *first, *second;
    struct hf_client   *holder = open_without_keeper("flush-broken", &first);
    struct hf_client   *waiter = open_without_keeper("flush-broken", &second);

    (void)state;
    actor_open(&other, TTL_MS, "flush-broken");
    assert_int_equal(hf_acquire(first, ACTOR_LIMIT_MS), 0);
    drive_until(holder, first, HF_HELD, 1);
    assert_int_equal(hf_acquire_start(second, -1), 0);
    drive_until(waiter, second, HF_WAITING, 2);
    server_await("flush-broken", 1, 1);
    assert_int_equal(hf_break(other.client, "flush-broken", hf_token(first), -1), 0);
    drive_until(waiter, second, HF_HELD, 2);
    redis_do("FLUSHALL");
    redis_ask("CLIENT KILL TYPE pubsub");
    redis_ask("CLIENT KILL TYPE normal");
    drive_until(holder, first, HF_LOST, 0);
    while (hf_state(second) == HF_HELD && server_holders("flush-broken") == 0)
        drive_until(waiter, second, HF_HELD, 0);
    assert_int_equal(hf_release(first), HF_ELOST);
    assert_int_equal(hf_release(second), 0);
    hf_close(holder);
    hf_close(waiter);
    actor_close(&other);
    server_expect_empty();
}

static void test_data_are_lost_while_nothing_is_held(void **state)
{
    static struct actor a;

    (void)state;
    actor_open(&a, TTL_MS, "flush-idle");
    three_clients_token(actor_take(&a));
    actor_give(&a);
    for (int i = 0; i < 2; i++) {
        redis_do("FLUSHALL");
        three_clients_token(actor_take(&a));
        actor_give(&a);
    }
    actor_close(&a);
    server_expect_empty();
}

/* The server's clock was set back, so tokens are far ahead of it; and the first client to come
 * back does not know the highest one. */
static void test_data_are_lost_with_the_clock_behind_the_tokens(void **state)
{
    static struct actor a, b;

    (void)state;
    actor_open(&a, TTL_MS, "flush-clock");
    actor_open(&b, TTL_MS, "flush-clock");
    three_clients_token(actor_take(&a));
    actor_give(&a);
    for (int i = 0; i < 3; i++) {
        redis_ask("HSET {holdfast}:state last %" PRId64,
                  hf_wall_us() + (i + 1) * (int64_t)86400 * 1000000);
        three_clients_token(actor_take(&a));
        actor_give(&a);
        for (int j = 0; j < 5; j++) {
            three_clients_token(actor_take(&b));
            actor_give(&b);
        }
        redis_do("FLUSHALL");
        three_clients_token(actor_take(&a));
        actor_give(&a);
    }
    actor_close(&a);
    actor_close(&b);
    server_expect_empty();
}

/* The message that grants a place overtakes the answer to its ENTER.  Then that answer is
 * lost, and so are all data, and another client queues up before ENTER is repeated. */
static void test_a_grant_that_overtook_its_enter_is_lost(void **state)
{
    static struct actor holder, waiter, other;
    struct tcpproxy    *proxy = tcpproxy_start(server_address(), "SUBSCRIBE");

    (void)state;
    actor_open(&holder, 3 * TTL_MS, "overtaken");
    actor_open(&other, 3 * TTL_MS, "overtaken");
    actor_open_at(&waiter, tcpproxy_address(proxy), 3 * TTL_MS, "overtaken");
    actor_take(&holder);
    actor_queue(&waiter, 1); /* it subscribes */
    actor_give(&holder);
    actor_await(&waiter, HF_HELD);
    actor_give(&waiter);
    actor_take(&holder);

    tcpproxy_hold(proxy, TCPPROXY_DOWN, TCPPROXY_PLAIN);
    uint64_t heard = tcpproxy_bytes(proxy, TCPPROXY_DOWN, TCPPROXY_MARKED);
    actor_start(&waiter);
    poll(NULL, 0, 100); /* its ENTER is in line */
    actor_give(&holder);
    poll(NULL, 0, 100);
    assert_true(tcpproxy_bytes(proxy, TCPPROXY_DOWN, TCPPROXY_MARKED) > heard);
    redis_do("FLUSHALL");
    tcpproxy_refuse(proxy, true);
    tcpproxy_drop(proxy, TCPPROXY_ALL);
    actor_start(&other);
    poll(NULL, 0, 100);
    assert_int_equal(hf_ahead(other.lock), 0);
    tcpproxy_hold(proxy, TCPPROXY_DOWN, TCPPROXY_NOBODY);
    tcpproxy_refuse(proxy, false);

    actor_await(&other, HF_HELD);
    assert_int_equal(hf_state(waiter.lock), HF_WAITING);
    actor_give(&other);
    actor_await(&waiter, HF_HELD);
    actor_give(&waiter);
    actor_close(&holder);
    actor_close(&other);
    actor_close(&waiter);
    tcpproxy_stop(proxy);
    server_expect_empty();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_data_are_lost),
        cmocka_unit_test(test_the_scripts_are_flushed),
        cmocka_unit_test(test_data_and_scripts_are_lost),
        cmocka_unit_test(test_data_are_lost_twice),
        cmocka_unit_test(test_the_hash_is_deleted),
        cmocka_unit_test(test_the_sorted_set_is_deleted),
        cmocka_unit_test(test_a_newcomer_after_lost_data),
        cmocka_unit_test(test_a_newcomer_with_a_shorter_lease_after_lost_data),
        cmocka_unit_test(test_a_newcomer_that_looked_before_the_first_lock),
        cmocka_unit_test(test_scripts_are_flushed_during_hand_overs),
        cmocka_unit_test(test_the_connection_breaks_before_the_lock_is_reclaimed),
        cmocka_unit_test(test_a_grant_that_overtook_its_enter_is_lost),
        cmocka_unit_test(test_a_lock_was_broken_before_data_were_lost),
        cmocka_unit_test(test_data_are_lost_while_nothing_is_held),
        cmocka_unit_test(test_data_are_lost_with_the_clock_behind_the_tokens),
    };

    server_find();
    redis_settle(TTL_MS); /* past the time when it counts as just started */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
