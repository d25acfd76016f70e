/* slow_server.c - a server that stops for a while, or is down: nothing is lost, and no
 * caller waits longer than its time limit. */
/* needs: standalone --tick 200 --config maxSessionTimeout=30000 */
#include "lib/clients.h"
#include "lib/promise.h"
#include "lib/witness.h"
#include "lib/zkproxy.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

enum { EXISTS = 3 };

/* ---- Short pauses ------------------------------------------------------------------- */

static void lock_survives_a_pause(void **state)
{
    struct actor a, b;

    (void)state;
    actor_open_zk(&a, witness_server(), "pause");
    actor_open_zk(&b, witness_server(), "pause");
    actor_take(&a);
    actor_queue_zk(&b, 2);
    for (int times = 0; times < 3; times++) {
        witness_tell("freeze 1");
        poll(NULL, 0, 300 + 400 * times); /* a session lasts 30 s */
        witness_tell("thaw 1");
        assert_int_equal(hf_check(a.lock, ACTOR_LIMIT_MS), 0);
    }
    assert_int_equal(hf_state(b.lock), HF_WAITING);
    actor_give(&a);
    actor_await(&b, HF_HELD);
    actor_give(&b);
    assert_int_equal(a.lost, 0);
    assert_int_equal(b.lost, 0);
    actor_close(&a);
    actor_close(&b);
}

/* Creating a session takes longer than the client waits the first time.  Each try may
 * leave a session behind, so there must not be many. */
static void slow_greeting_leaves_few_sessions(void **state)
{
    struct zkproxy *proxy = zkproxy_start(witness_server());
    struct player   a;
    struct request  found;
    char            url[64];

    (void)state;
    snprintf(url, sizeof url, "zk://%s?session=6s", zkproxy_address(proxy));
    zkproxy_delay(proxy, ZKPROXY_DOWN, 1300); /* more than a sixth of the session */
    promise_use(url);
    player_open(&a);
    assert_int_equal(list(&a, "greet", &found), 0);
    print_message("# %u connections\n", (unsigned)zkproxy_connections(proxy));
    assert_true(zkproxy_connections(proxy) <= 4);
    player_close(&a);
    zkproxy_stop(proxy);
}

/* The session is dead, and the server that says so is slow: the client waits for it all
 * the same. */
static void late_greeting_reports_the_dead_session(void **state)
{
    struct zkproxy *proxy = zkproxy_start(witness_server());
    struct player   a;
    struct request  found;
    char            url[64];

    (void)state;
    snprintf(url, sizeof url, "zk://%s?session=2s", zkproxy_address(proxy));
    promise_use(url);
    player_open(&a);
    assert_int_equal(list(&a, "greet", &found), 0);
    poll(NULL, 0, 4000); /* nobody drives the client: its session expires */
    zkproxy_delay(proxy, ZKPROXY_DOWN, 1000); /* more than a third of the session */
    for (hf_time end = hf_now() + 30 * HF_SEC;
         hf_now() < end && strstr(a.store->errmsg, "has expired") == NULL;)
        player_turn(&a, 10);
    assert_non_null(strstr(a.store->errmsg, "has expired"));
    zkproxy_delay(proxy, ZKPROXY_DOWN, 0);
    assert_int_equal(list(&a, "greet", &found), 0);
    player_close(&a);
    zkproxy_stop(proxy);
}

/* ---- Time limits -------------------------------------------------------------------- */

static void returns_in_time(struct actor *actor)
{
    hf_time start = hf_now();
    int     r = hf_acquire(actor->lock, 100);
    hf_time took = hf_now() - start;

    print_message("# %s after %.0f ms: %s\n", hf_errname(r), (double)took / (double)HF_MS,
                  hf_errmsg(actor->client));
    assert_true(r == HF_EDOWN || r == HF_ETIMEOUT);
    assert_true(took >= 99 * HF_MS && took < 5000 * HF_MS);
}

static void time_limits_hold_while_the_server_is_frozen(void **state)
{
    struct actor known, fresh;

    (void)state;
    actor_open_zk(&known, witness_server(), "frozen");
    actor_take(&known);
    actor_give(&known);
    witness_tell("freeze 1");
    actor_open_zk(&fresh, witness_server(), "frozen");
    for (int times = 0; times < 3; times++) {
        returns_in_time(&known);
        returns_in_time(&fresh);
    }
    witness_tell("thaw 1");
    /* A node that was created after all is deleted again. */
    actor_take(&fresh);
    actor_give(&fresh);
    actor_take(&known);
    actor_give(&known);
    witness_await("/frozen", 0);
    actor_close(&known);
    actor_close(&fresh);
}

static void time_limits_hold_while_the_server_is_down(void **state)
{
    struct actor known, fresh;

    (void)state;
    actor_open_zk(&known, witness_server(), "down");
    actor_take(&known);
    actor_give(&known);
    witness_tell("kill 1");
    actor_open_zk(&fresh, witness_server(), "down");
    for (int times = 0; times < 3; times++) {
        returns_in_time(&known);
        returns_in_time(&fresh);
    }
    witness_tell("start 1");
    witness_tell("wait");
    actor_take(&fresh);
    actor_give(&fresh);
    actor_take(&known);
    actor_give(&known);
    witness_await("/down", 0);
    actor_close(&known);
    actor_close(&fresh);
}

/* A lock survives a quick restart: the server remembers the session. */
static void lock_survives_a_quick_restart(void **state)
{
    struct actor a;

    (void)state;
    actor_open_zk(&a, witness_server(), "restart");
    actor_take(&a);
    hf_time start = hf_now();
    witness_tell("kill 1");
    witness_tell("start 1");
    witness_tell("wait");
    int r = hf_check(a.lock, ACTOR_LIMIT_MS);
    print_message("# back after %.0f ms: %s\n",
                  (double)(hf_now() - start) / (double)HF_MS, r == 0 ? "held" : "lost");
    /* If a busy machine took too long, the lock must be lost, and the client must know. */
    assert_int_equal(r, hf_state(a.lock) == HF_HELD ? 0 : HF_ELOST);
    assert_int_equal(hf_release(a.lock), r);
    actor_close(&a);
    witness_await("/restart", 0);
}

/* ---- A write that the server delays ------------------------------------------------- */

/* How many extra requests an acquire sends when its answers are this late.  A server on a
 * busy machine may be late by itself, so it tries again if there are more than `wanted`. */
static uint64_t count_kicks(struct actor *a, struct zkproxy *proxy, int delay,
                            uint64_t wanted)
{
    uint64_t count = wanted + 1;

    for (int times = 0; times < 20 && count != wanted; times++) {
        uint64_t before = zkproxy_requests(proxy, EXISTS);
        zkproxy_delay(proxy, ZKPROXY_DOWN, delay);
        actor_take(a);
        count = zkproxy_requests(proxy, EXISTS) - before;
        zkproxy_delay(proxy, ZKPROXY_DOWN, 0);
        actor_give(a);
    }
    return count;
}

static void late_answer_causes_one_more_request(void **state)
{
    struct zkproxy *proxy = zkproxy_start(witness_server());
    struct actor    a;

    (void)state;
    actor_open_zk(&a, zkproxy_address(proxy), "kick");
    actor_take(&a);
    actor_give(&a);
    assert_int_equal(count_kicks(&a, proxy, 0, 0), 0);
    assert_int_equal(count_kicks(&a, proxy, 350, 1), 1); /* one for all late answers */
    assert_int_equal(zkproxy_connections(proxy), 1);
    actor_close(&a);
    zkproxy_stop(proxy);
}

/* ---- Slow answers ------------------------------------------------------------------- */

#define SESSION_MS 10000
#define DELAY_MS   250

/* The longest time left right after an answer has moved the deadline, in `ms` from now. */
static int64_t longest_left(struct hf_lock *lock, int ms)
{
    int64_t end = hf_now() / HF_MS + ms, longest = 0, before = INT64_MAX;

    for (int64_t now; (now = hf_now() / HF_MS) < end; poll(NULL, 0, 2)) {
        int64_t left = hf_left_ms(lock);
        if (now + left - before > 50 && left > longest)
            longest = left;
        before = now + left;
    }
    return longest;
}

/* core/lease.h: a write proves an answer that came T/4 and two round trips before the write
 * was sent, and the lease counts from the request to that answer.  That is four delays and
 * T/4 before the answer to the write. */
static void lease_counts_from_the_sending(void **state)
{
    struct zkproxy *proxy = zkproxy_start(witness_server());
    struct actor    a;
    char            address[64];
    int64_t         most = SESSION_MS * 3 / 4 - 4 * DELAY_MS + DELAY_MS / 2;

    (void)state;
    snprintf(address, sizeof address, "%s?session=%dms", zkproxy_address(proxy),
             SESSION_MS);
    actor_open_zk(&a, address, "slow");
    actor_take(&a);
    zkproxy_delay(proxy, ZKPROXY_DOWN, DELAY_MS);
    poll(NULL, 0, SESSION_MS / 2); /* the deadline from before the delay is passed over */
    int64_t longest = longest_left(a.lock, SESSION_MS / 2);
    print_message("# of %d ms at most %d were left\n", SESSION_MS, (int)longest);
    assert_in_range(longest, 1, most);
    assert_int_equal(zkproxy_connections(proxy), 1);
    zkproxy_delay(proxy, ZKPROXY_DOWN, 0);
    actor_give(&a);
    actor_close(&a);
    zkproxy_stop(proxy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lock_survives_a_pause),
        cmocka_unit_test(slow_greeting_leaves_few_sessions),
        cmocka_unit_test(late_greeting_reports_the_dead_session),
        cmocka_unit_test(time_limits_hold_while_the_server_is_frozen),
        cmocka_unit_test(time_limits_hold_while_the_server_is_down),
        cmocka_unit_test(lock_survives_a_quick_restart),
        cmocka_unit_test(late_answer_causes_one_more_request),
        cmocka_unit_test(lease_counts_from_the_sending),
    };

    witness_server();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
