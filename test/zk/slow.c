/* slow.c - a server that stops for a while, or is down: nothing is lost, and nobody is
 * kept longer than he said.
 */
/* needs: standalone --tick 200 --config maxSessionTimeout=30000 */
#include "lib/actor.h"
#include "lib/promise.h"
#include "lib/witness.h"
#include "lib/zkproxy.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

enum { EXISTS = 3 };

/* ---- For a while ---------------------------------------------------------------------- */

static void pause_is_borne(void **state)
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

/* It takes longer to make a session than we wait the first time.  Each try may leave a
 * session behind, so there must not be many. */
static void slow_to_greet(void **state)
{
    struct zkproxy *proxy = zkproxy_start(witness_server());
    struct player   a;
    struct ask      found;
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

/* The session is dead, and who says so is slow: it is heard all the same. */
static void slow_to_say_that_it_is_dead(void **state)
{
    struct zkproxy *proxy = zkproxy_start(witness_server());
    struct player   a;
    struct ask      found;
    char            url[64];

    (void)state;
    snprintf(url, sizeof url, "zk://%s?session=2s", zkproxy_address(proxy));
    promise_use(url);
    player_open(&a);
    assert_int_equal(list(&a, "greet", &found), 0);
    poll(NULL, 0, 4000);                      /* nobody turns: it expires */
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

/* ---- No longer than was said ------------------------------------------------------------- */

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

static void server_is_frozen(void **state)
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
    /* What had arrived all the same is taken back. */
    actor_take(&fresh);
    actor_give(&fresh);
    actor_take(&known);
    actor_give(&known);
    witness_await("/frozen", 0);
    actor_close(&known);
    actor_close(&fresh);
}

static void server_is_down(void **state)
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

/* A lock is kept across a restart that is quick enough: the server remembers. */
static void server_is_restarted(void **state)
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
    /* On a machine so busy that it took too long it must be lost, and known so. */
    assert_int_equal(r, hf_state(a.lock) == HF_HELD ? 0 : HF_ELOST);
    assert_int_equal(hf_release(a.lock), r);
    actor_close(&a);
    witness_await("/restart", 0);
}

/* ---- A write that a server sits on ---------------------------------------------------------- */

/* How often an acquire whose answers take so long kicks the server.  One that is slow by
 * itself, on a busy machine, is kicked more often than is `wanted`: not every time. */
static uint64_t kicks(struct actor *a, struct zkproxy *proxy, int delay, uint64_t wanted)
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

static void slow_answer_is_kicked(void **state)
{
    struct zkproxy *proxy = zkproxy_start(witness_server());
    struct actor    a;

    (void)state;
    actor_open_zk(&a, zkproxy_address(proxy), "kick");
    actor_take(&a);
    actor_give(&a);
    assert_int_equal(kicks(&a, proxy, 0, 0), 0);
    assert_int_equal(kicks(&a, proxy, 350, 1), 1); /* one for all that is late */
    assert_int_equal(zkproxy_connections(proxy), 1);
    actor_close(&a);
    zkproxy_stop(proxy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pause_is_borne),
        cmocka_unit_test(slow_to_greet),
        cmocka_unit_test(slow_to_say_that_it_is_dead),
        cmocka_unit_test(server_is_frozen),
        cmocka_unit_test(server_is_down),
        cmocka_unit_test(server_is_restarted),
        cmocka_unit_test(slow_answer_is_kicked),
    };

    witness_server();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
