/* will.c - a session is ended by its will while the way to the server, or the server, fails.
 *
 * The owner is in this process, and lives: so nothing but the will can have ended it.  Where
 * it should be dead it is cut off from the server.
 */
/* needs redis: standalone --aof */
/* needs postgres: standalone --setting wal_writer_delay=10s */
#include "lib/promise.h"
#include "lib/tcpproxy.h"
#include "lib/testament.h"
#include "lib/witness.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#define TTL_MS   30000 /* so long that nothing ends by itself, nor is renewed soon */
#define SHORT_MS 1500
#define PLACES   300 /* more than a piece of them on Redis */
#define CUTS     6

static bool             is_redis;
static struct tcpproxy *proxy;

static void open_by_proxy(struct actor *owner, int ttl_ms, const char *name)
{
    actor_open_at(owner, tcpproxy_address(proxy), ttl_ms, name);
    actor_take(owner);
}

static void is_lost(struct actor *owner)
{
    actor_await(owner, HF_LOST);
    assert_int_equal(hf_release(owner->lock), HF_ELOST);
    actor_close(owner);
}

/* It may not have been told: it listens only for what it has had for a moment. */
static void finds_out(struct actor *owner)
{
    assert_int_equal(hf_check(owner->lock, ACTOR_LIMIT_MS), HF_ELOST);
    is_lost(owner);
}

/* The owner hears of it at once, not only with its next renewal. */
static void test_the_owner_is_told_and_the_next_is_granted(void **state)
{
    static struct actor owner, next;
    struct testament    will;

    (void)state;
    actor_open(&owner, TTL_MS, "told");
    actor_open(&next, TTL_MS, "told");
    actor_take(&owner);
    actor_queue(&next, 1);
    testament_take(owner.client, &will);
    poll(NULL, 0, 500); /* the owner listens by now */
    hf_time start = hf_now();
    testament_execute(&will);
    actor_await(&next, HF_HELD);
    hf_time granted = hf_now();
    actor_await(&owner, HF_LOST);
    print_message("# granted after %.1f ms, the owner knows after %.1f ms\n",
                  (double)(granted - start) / HF_MS,
                  (double)(owner.lost - start) / HF_MS);
    assert_true(owner.lost - start < TTL_MS / 6 * HF_MS);
    testament_execute(&will);
    assert_int_equal(hf_check(next.lock, ACTOR_LIMIT_MS), 0);
    actor_give(&next);
    actor_close(&next);
    is_lost(&owner);
    witness_empty();
}

/* Claims, too, which have keys of their own on Redis. */
static void test_all_of_many_places_go(void **state)
{
    static struct actor    owner, next;
    static struct hf_lock *lock[PLACES];
    struct hf_lock        *claim;
    struct testament       will;
    char                   name[32];

    (void)state;
    actor_open(&owner, TTL_MS, "many");
    for (size_t i = 0; i < PLACES; i++) {
        snprintf(name, sizeof name, "many%zu", i);
        assert_int_equal((i % 2 == 1 ? hf_claim : hf_mutex)(owner.client, name, &lock[i]),
                         0);
        assert_int_equal(hf_acquire_start(lock[i], ACTOR_LIMIT_MS), 0);
    }
    for (size_t i = 0; i < PLACES; i++)
        lock_await(lock[i], HF_HELD);
    testament_take(owner.client, &will);
    testament_execute(&will);
    witness_empty();
    actor_open(&next, TTL_MS, "many");
    assert_int_equal(hf_claim(next.client, name, &claim), 0);
    assert_int_equal(hf_acquire(claim, 0), 0);
    lock_await(lock[PLACES - 1], HF_LOST);
    actor_close(&owner);
    actor_close(&next);
    witness_empty();
}

/* ---- The way there ---------------------------------------------------------------------- */

static void test_a_will_is_true_on_every_connection(void **state)
{
    static struct actor owner;
    struct testament    will, later;

    (void)state;
    open_by_proxy(&owner, TTL_MS, "moved");
    testament_take(owner.client, &will);
    for (int i = 0; i < 3; i++) {
        uint64_t before = tcpproxy_connections(proxy);
        tcpproxy_drop(proxy, TCPPROXY_ALL);
        assert_int_equal(hf_check(owner.lock, ACTOR_LIMIT_MS), 0);
        assert_true(tcpproxy_connections(proxy) > before);
    }
    testament_take(owner.client, &later);
    assert_true(later.size == will.size &&
                memcmp(later.bytes, will.bytes, will.size) == 0);
    testament_execute(&will);
    finds_out(&owner);
    witness_empty();
}

/* How many bytes it takes; and cut in the middle of them. */
static void cut_somewhere(enum tcpproxy_way way)
{
    static struct actor owner, next;
    struct testament    will;
    uint64_t            size = 0;
    unsigned            struck = 0;

    actor_open(&next, TTL_MS, "cut");
    for (unsigned i = 0; i <= CUTS; i++) {
        open_by_proxy(&owner, TTL_MS, "cut");
        testament_take(owner.client, &will);
        uint64_t before = tcpproxy_bytes(proxy, way, TCPPROXY_ALL);
        if (i > 0)
            tcpproxy_cut(proxy, way, TCPPROXY_ALL, 1 + (i - 1) * size / CUTS);
        testament_execute(&will);
        if (i == 0)
            size = tcpproxy_bytes(proxy, way, TCPPROXY_ALL) - before;
        struck += tcpproxy_has_struck(proxy);
        tcpproxy_forget(proxy);
        actor_take(&next);
        actor_give(&next);
        finds_out(&owner);
    }
    actor_close(&next);
    print_message("# %d bytes, %u of %d cuts\n", (int)size, struck, CUTS);
    assert_true(size > 2 * CUTS && struck > CUTS / 2);
    witness_empty();
}

static void test_the_connection_breaks_at_any_byte(void **state)
{
    (void)state;
    cut_somewhere(TCPPROXY_UP);
    cut_somewhere(TCPPROXY_DOWN);
}

/* ---- The server ------------------------------------------------------------------------- */

/* Nobody knows then; it may be tried again. */
static void test_the_server_hangs(void **state)
{
    static struct actor owner;
    struct testament    will;
    char                error[HF_ERRMSG_MAX] = "";

    (void)state;
    actor_open(&owner, TTL_MS, "hangs");
    actor_take(&owner);
    testament_take(owner.client, &will);
    witness_tell("freeze");
    assert_int_equal(hf_execute(will.bytes, will.size, 100, error, sizeof error),
                     HF_EDOWN);
    assert_true(error[0] != '\0');
    witness_tell("thaw");
    testament_execute(&will);
    finds_out(&owner);
    witness_empty();
}

/* By a way that its owner is not cut off from. */
static void take_will_of_dead(struct actor *owner, struct testament *ret)
{
    struct testament by_proxy;
    char             params[32];

    testament_take(owner->client, &by_proxy);
    snprintf(params, sizeof params, "ttl=%dms", SHORT_MS);
    testament_move(&by_proxy, witness_url(params), ret);
    tcpproxy_refuse(proxy, true);
    tcpproxy_drop(proxy, TCPPROXY_ALL);
}

static void end_of_dead(struct actor *owner, struct actor *next)
{
    actor_give(next);
    actor_close(next);
    is_lost(owner);
    tcpproxy_refuse(proxy, false);
    witness_empty();
}

/* On Redis that is lost data, so nobody is granted anything for a ttl, whoever is dead. */
static void test_the_server_was_restarted(void **state)
{
    static struct actor owner, next;
    struct testament    will;

    (void)state;
    open_by_proxy(&owner, SHORT_MS, "restarted");
    actor_open(&next, SHORT_MS, "restarted");
    actor_queue(&next, 1);
    take_will_of_dead(&owner, &will);
    witness_tell("kill");
    assert_int_equal(hf_execute(will.bytes, will.size, 0, NULL, 0), HF_EDOWN);
    hf_time start = hf_now();
    witness_tell("start");
    testament_execute(&will);
    actor_await(&next, HF_HELD);
    print_message("# granted %d ms after the server was started\n",
                  (int)((hf_now() - start) / HF_MS));
    assert_true(!is_redis || hf_now() - start >= SHORT_MS * HF_MS);
    end_of_dead(&owner, &next);
}

/* PostgreSQL does not forget it; what Redis forgets, the lease ends. */
static void test_the_server_crashes_right_behind_it(void **state)
{
    static struct actor owner, next;
    struct testament    will;

    (void)state;
    open_by_proxy(&owner, SHORT_MS, "crashed");
    take_will_of_dead(&owner, &will);
    testament_execute(&will);
    witness_tell("restart");
    size_t held = witness_holders("crashed");
    print_message("# %zu held after the crash\n", held);
    assert_true(is_redis || held == 0);
    actor_open(&next, SHORT_MS, "crashed");
    actor_take(&next);
    end_of_dead(&owner, &next);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            test_the_server_was_restarted), /* before there are long leases */
        cmocka_unit_test(test_the_server_crashes_right_behind_it),
        cmocka_unit_test(test_the_owner_is_told_and_the_next_is_granted),
        cmocka_unit_test(test_all_of_many_places_go),
        cmocka_unit_test(test_a_will_is_true_on_every_connection),
        cmocka_unit_test(test_the_connection_breaks_at_any_byte),
        cmocka_unit_test(test_the_server_hangs),
    };

    is_redis = strcmp(witness_start(), "redis") == 0;
    proxy = tcpproxy_start(witness_server(), NULL);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    tcpproxy_stop(proxy);
    return failed;
}
