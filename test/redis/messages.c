/* messages.c - which clients get messages, and what happens when one is lost.
 *
 * A release sends a message to exactly one client, the next waiter.  If the message or its
 * connection is lost, that client may be woken later, but it is always woken.
 */
/* needs: standalone */
#include "lib/promise.h"
#include "lib/server_redis.h"
#include "lib/tcpproxy.h"

#include <poll.h>
#include <stdio.h>

#define TTL_MS   1200
#define AT_ONCE  (250 * HF_MS) /* less than between two renewals */
#define SLACK_MS 300
#define CROWD    16

static struct tcpproxy *proxy;

/* A holder, and a waiter behind a proxy. */
struct stage {
    struct actor holder, waiter;
};

static void stage_open(struct stage *stage, const char *name)
{
    actor_open(&stage->holder, TTL_MS, name);
    actor_open_at(&stage->waiter, tcpproxy_address(proxy), TTL_MS, name);
    actor_take(&stage->holder);
    actor_queue(&stage->waiter, 1);
    poll(NULL, 0, 30); /* it has subscribed by now */
}

static hf_time hand_over(struct stage *stage)
{
    hf_time start = hf_now();

    actor_give(&stage->holder);
    actor_await(&stage->waiter, HF_HELD);
    return stage->waiter.held - start;
}

static void stage_close(struct stage *stage)
{
    actor_give(&stage->waiter);
    actor_close(&stage->holder);
    actor_close(&stage->waiter);
    server_expect_empty();
}

/* ---- How many are told --------------------------------------------------------------- */

static void each_release_sends_one_message(void **state)
{
    static struct actor actor[CROWD + 1];

    (void)state;
    for (size_t i = 0; i <= CROWD; i++) /* nothing is renewed while we count */
        actor_open(&actor[i], 30000, "crowd");
    actor_take(&actor[0]);
    for (size_t i = 1; i <= CROWD; i++)
        actor_queue(&actor[i], i);
    long before = redis_calls("publish");
    for (size_t i = 0; i < CROWD; i++) {
        actor_give(&actor[i]);
        actor_await(&actor[i + 1], HF_HELD);
        assert_int_equal(redis_calls("publish"), before + (long)i + 1);
    }
    actor_give(&actor[CROWD]);
    assert_int_equal(redis_calls("publish"), before + CROWD);
    for (size_t i = 0; i <= CROWD; i++)
        actor_close(&actor[i]);
    server_expect_empty();
}

/* The woken client makes no call: a hand-over is one script. */
static void a_grant_takes_no_further_call(void **state)
{
    static struct actor a, b;

    (void)state;
    actor_open(&a, 30000, "scripts");
    actor_open(&b, 30000, "scripts");
    actor_take(&a);
    actor_queue(&b, 1);
    poll(NULL, 0, 100);
    long before = redis_calls("evalsha");
    actor_give(&a);
    actor_await(&b, HF_HELD);
    poll(NULL, 0, 20);
    long asked = redis_calls("evalsha") - before;
    print_message("# %ld scripts for a hand-over\n", asked);
    assert_in_range(asked, 1, 2);
    actor_give(&b);
    actor_close(&a);
    actor_close(&b);
    server_expect_empty();
}

/* ---- Messages that are lost ------------------------------------------------------------ */

static void a_waiter_is_woken_at_once(void **state)
{
    static struct stage stage;

    (void)state;
    stage_open(&stage, "at-once");
    assert_true(hand_over(&stage) < AT_ONCE);
    stage_close(&stage);
}

/* It subscribes again before anything happens. */
static void the_message_connection_is_cut(void **state)
{
    static struct stage stage;

    (void)state;
    stage_open(&stage, "ear");
    for (int i = 0; i < 3; i++) {
        hf_time end = hf_now() + ACTOR_LIMIT_MS * HF_MS;
        assert_int_equal(tcpproxy_open(proxy, TCPPROXY_MARKED), 1);
        tcpproxy_drop(proxy, TCPPROXY_MARKED);
        while (tcpproxy_open(proxy, TCPPROXY_MARKED) != 1 && hf_now() < end)
            poll(NULL, 0, 1);
    }
    poll(NULL, 0, 30);
    assert_true(hand_over(&stage) < AT_ONCE);
    stage_close(&stage);
}

/* The waiter reads its place as soon as it is connected again. */
static void granted_while_both_connections_are_cut(void **state)
{
    static struct stage stage;

    (void)state;
    stage_open(&stage, "cut-off");
    tcpproxy_refuse(proxy, true);
    tcpproxy_drop(proxy, TCPPROXY_ALL);
    actor_give(&stage.holder);
    poll(NULL, 0, 150);
    tcpproxy_refuse(proxy, false);
    uint64_t before = tcpproxy_connections(proxy);
    hf_time  end = hf_now() + ACTOR_LIMIT_MS * HF_MS;
    while (tcpproxy_connections(proxy) == before && hf_now() < end)
        poll(NULL, 0, 1);
    hf_time back = hf_now();
    actor_await(&stage.waiter, HF_HELD);
    assert_true(stage.waiter.held - back < AT_ONCE);
    stage_close(&stage);
}

static void granted_while_the_message_connection_is_cut(void **state)
{
    static struct stage stage;

    (void)state;
    stage_open(&stage, "deaf");
    tcpproxy_refuse(proxy, true);
    tcpproxy_drop(proxy, TCPPROXY_MARKED);
    actor_give(&stage.holder);
    poll(NULL, 0, 100);
    tcpproxy_refuse(proxy, false);
    hf_time back = hf_now();
    actor_await(&stage.waiter, HF_HELD);
    assert_true(stage.waiter.held - back < (TTL_MS / 3 + SLACK_MS) * HF_MS);
    stage_close(&stage);
}

/* Only the message is lost: the next renewal finds out. */
static void a_message_is_lost(void **state)
{
    static struct stage stage;

    (void)state;
    for (int i = 0; i < 2; i++) {
        stage_open(&stage, "lost");
        tcpproxy_swallow(proxy, TCPPROXY_DOWN, TCPPROXY_MARKED);
        hf_time took = hand_over(&stage);
        print_message("# after %d ms\n", (int)(took / HF_MS));
        assert_true(took < (TTL_MS / 3 + SLACK_MS) * HF_MS);
        tcpproxy_swallow(proxy, TCPPROXY_DOWN, TCPPROXY_NOBODY);
        stage_close(&stage);
    }
}

/* The holder learns of it with the next renewal. */
static void the_message_of_a_break_is_lost(void **state)
{
    static struct actor a, b;

    (void)state;
    actor_open_at(&a, tcpproxy_address(proxy), TTL_MS, "bad");
    actor_open(&b, TTL_MS, "bad");
    uint64_t token = actor_take(&a);
    poll(NULL, 0, 30);
    tcpproxy_swallow(proxy, TCPPROXY_DOWN, TCPPROXY_MARKED);
    hf_time start = hf_now();
    assert_int_equal(hf_break(b.client, "bad", token, ACTOR_LIMIT_MS), 0);
    actor_await(&a, HF_LOST);
    assert_true(a.lost - start < (TTL_MS / 3 + SLACK_MS) * HF_MS);
    tcpproxy_swallow(proxy, TCPPROXY_DOWN, TCPPROXY_NOBODY);
    assert_int_equal(actor_release(&a), HF_ELOST);
    actor_close(&a);
    actor_close(&b);
    server_expect_empty();
}

/* ---- Holders that say nothing ----------------------------------------------------------- */

static void a_holder_dies_silently(void **state)
{
    static struct actor holder, waiter;

    (void)state;
    actor_open_at(&holder, tcpproxy_address(proxy), TTL_MS, "silent");
    actor_open(&waiter, 20000, "silent"); /* does not renew in time */
    actor_take(&holder);
    actor_queue(&waiter, 1);
    tcpproxy_hold(proxy, TCPPROXY_BOTH, TCPPROXY_ALL);
    hf_time start = hf_now();
    actor_await(&waiter, HF_HELD);
    assert_false(actor_has(&holder));
    assert_true(waiter.held - start < (TTL_MS + SLACK_MS) * HF_MS);
    assert_true(waiter.held - start > TTL_MS / 2 * HF_MS);
    tcpproxy_hold(proxy, TCPPROXY_BOTH, TCPPROXY_NOBODY);
    actor_await(&holder, HF_LOST);
    assert_int_equal(actor_release(&holder), HF_ELOST);
    actor_give(&waiter);
    actor_close(&holder);
    actor_close(&waiter);
    server_expect_empty();
}

/* The same with a claim, whose key expires. */
static void a_claim_dies_silently(void **state)
{
    static struct actor holder, waiter;
    struct hf_lock     *claim, *wish;

    (void)state;
    actor_open_at(&holder, tcpproxy_address(proxy), TTL_MS, "unused");
    actor_open(&waiter, 20000, "unused");
    assert_int_equal(hf_claim(holder.client, "claim", &claim), 0);
    assert_int_equal(hf_claim(waiter.client, "claim", &wish), 0);
    assert_int_equal(hf_acquire(claim, ACTOR_LIMIT_MS), 0);
    assert_int_equal(hf_acquire(wish, 0), HF_EBUSY);
    tcpproxy_hold(proxy, TCPPROXY_BOTH, TCPPROXY_ALL);
    hf_time start = hf_now();
    assert_int_equal(hf_acquire(wish, ACTOR_LIMIT_MS), 0);
    hf_time took = hf_now() - start;
    assert_int_equal(hf_left_ms(claim), 0);
    assert_true(took < (TTL_MS + SLACK_MS) * HF_MS);
    tcpproxy_hold(proxy, TCPPROXY_BOTH, TCPPROXY_NOBODY);
    assert_int_equal(hf_release(wish), 0);
    assert_int_equal(hf_release(claim), HF_ELOST);
    hf_lock_free(claim);
    hf_lock_free(wish);
    actor_close(&holder);
    actor_close(&waiter);
    server_expect_empty();
}

/* ---- Closing -------------------------------------------------------------------------------- */

static void await_sessions(long count)
{
    hf_time end = hf_now() + 500 * HF_MS; /* less than a ttl */

    while (redis_sessions() != count && hf_now() < end)
        poll(NULL, 0, 5);
    assert_int_equal(redis_sessions(), count);
}

/* With or without a lock, and even as the first client ever. */
static void closing_a_client_leaves_no_data(void **state)
{
    static struct actor a, b;

    (void)state;
    redis_use("leaves");
    redis_do("SCRIPT FLUSH");
    actor_open(&a, TTL_MS, "leaves");
    actor_take(&a);
    actor_open(&b, TTL_MS, "leaves");
    actor_queue(&b, 1);
    await_sessions(2);
    hf_time start = hf_now();
    actor_close(&a);
    actor_await(&b, HF_HELD);
    assert_true(b.held - start < AT_ONCE);
    await_sessions(1);
    actor_give(&b);
    actor_close(&b);
    await_sessions(0);
    redis_do("SCRIPT FLUSH");
    actor_open(&a, TTL_MS, "leaves");
    actor_take(&a);
    actor_give(&a);
    actor_close(&a);
    await_sessions(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_waiter_is_woken_at_once),
        cmocka_unit_test(each_release_sends_one_message),
        cmocka_unit_test(a_grant_takes_no_further_call),
        cmocka_unit_test(the_message_connection_is_cut),
        cmocka_unit_test(granted_while_both_connections_are_cut),
        cmocka_unit_test(granted_while_the_message_connection_is_cut),
        cmocka_unit_test(a_message_is_lost),
        cmocka_unit_test(the_message_of_a_break_is_lost),
        cmocka_unit_test(a_holder_dies_silently),
        cmocka_unit_test(a_claim_dies_silently),
        cmocka_unit_test(closing_a_client_leaves_no_data),
    };

    server_find();
    proxy = tcpproxy_start(server_address(), "SUBSCRIBE");
    redis_settle(TTL_MS);
    int status = cmocka_run_group_tests(tests, NULL, NULL);
    tcpproxy_stop(proxy);
    return status;
}
