/* session_key.c - end a session by its key while the connection or the server fails.
 *
 * The owner is in this process, and alive: so only the session key can have ended the
 * session.  Where the owner should be dead it is cut off from the server.
 */
/* needs redis: standalone --aof */
/* needs postgres: standalone --setting wal_writer_delay=10s */
/* needs mariadb: standalone */
#include "lib/promise.h"
#include "lib/server.h"
#include "lib/session_keys.h"
#include "lib/tcpproxy.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#define TTL_MS   30000 /* long: no session expires, and none is renewed soon */
#define SHORT_MS 1500
#define PLACES   300 /* more than one batch on Redis */
#define CUTS     6

static bool             is_redis;
static struct tcpproxy *proxy;

static void open_by_proxy(struct actor *owner, int ttl_ms, const char *name)
{
    actor_open_at(owner, tcpproxy_address(proxy), ttl_ms, name);
    actor_take(owner);
}

static void expect_loss(struct actor *owner)
{
    actor_await(owner, HF_LOST);
    assert_int_equal(actor_release(owner), HF_ELOST);
    actor_close(owner);
}

/* It may not have been notified: it listens only once it has held a lock for a moment. */
static void check_and_expect_loss(struct actor *owner)
{
    assert_int_equal(hf_check(owner->lock, ACTOR_LIMIT_MS), HF_ELOST);
    expect_loss(owner);
}

/* At once, not only with its next renewal. */
static void test_the_owner_is_notified_and_the_next_is_granted(void **state)
{
    static struct actor owner, next;
    struct session_key  key;

    (void)state;
    actor_open(&owner, TTL_MS, "notified");
    actor_open(&next, TTL_MS, "notified");
    actor_take(&owner);
    actor_queue(&next, 1);
    session_key_take(owner.client, &key);
    poll(NULL, 0, 500); /* the owner listens by now */
    hf_time start = hf_now();
    session_key_end(&key);
    actor_await(&next, HF_HELD);
    hf_time granted = hf_now();
    actor_await(&owner, HF_LOST);
    print_message("# granted after %.1f ms, the owner knows after %.1f ms\n",
                  (double)(granted - start) / HF_MS,
                  (double)(owner.lost - start) / HF_MS);
    assert_true(owner.lost - start < TTL_MS / 6 * HF_MS);
    session_key_end(&key);
    assert_int_equal(hf_check(next.lock, ACTOR_LIMIT_MS), 0);
    actor_give(&next);
    actor_close(&next);
    expect_loss(&owner);
    server_expect_empty();
}

/* Half of them are claims, which have keys of their own on Redis. */
static void test_a_key_removes_all_of_many_places(void **state)
{
    static struct actor    owner, next;
    static struct hf_lock *lock[PLACES];
    struct hf_lock        *claim;
    struct session_key     key;
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
    session_key_take(owner.client, &key);
    session_key_end(&key);
    server_expect_empty();
    actor_open(&next, TTL_MS, "many");
    assert_int_equal(hf_claim(next.client, name, &claim), 0);
    assert_int_equal(hf_acquire(claim, 0), 0);
    lock_await(lock[PLACES - 1], HF_LOST);
    actor_close(&owner);
    actor_close(&next);
    server_expect_empty();
}

/* ---- The connection ---------------------------------------------------------------------- */

static void test_a_key_is_the_same_on_every_connection(void **state)
{
    static struct actor owner;
    struct session_key  key, later;

    (void)state;
    open_by_proxy(&owner, TTL_MS, "moved");
    session_key_take(owner.client, &key);
    for (int i = 0; i < 3; i++) {
        uint64_t before = tcpproxy_connections(proxy);
        tcpproxy_drop(proxy, TCPPROXY_ALL);
        assert_int_equal(hf_check(owner.lock, ACTOR_LIMIT_MS), 0);
        assert_true(tcpproxy_connections(proxy) > before);
    }
    session_key_take(owner.client, &later);
    assert_true(later.size == key.size && memcmp(later.bytes, key.bytes, key.size) == 0);
    session_key_end(&key);
    check_and_expect_loss(&owner);
    server_expect_empty();
}

/* Count the bytes that it takes, then cut the connection in the middle of them. */
static void cut_at_many_bytes(enum tcpproxy_way way)
{
    static struct actor owner, next;
    struct session_key  key;
    uint64_t            size = 0;
    unsigned            struck = 0;

    actor_open(&next, TTL_MS, "cut");
    for (unsigned i = 0; i <= CUTS; i++) {
        open_by_proxy(&owner, TTL_MS, "cut");
        session_key_take(owner.client, &key);
        uint64_t before = tcpproxy_bytes(proxy, way, TCPPROXY_ALL);
        if (i > 0)
            tcpproxy_cut(proxy, way, TCPPROXY_ALL, 1 + (i - 1) * size / CUTS);
        session_key_end(&key);
        if (i == 0)
            size = tcpproxy_bytes(proxy, way, TCPPROXY_ALL) - before;
        struck += tcpproxy_has_struck(proxy);
        tcpproxy_forget(proxy);
        actor_take(&next);
        actor_give(&next);
        check_and_expect_loss(&owner);
    }
    actor_close(&next);
    print_message("# %d bytes, %u of %d cuts\n", (int)size, struck, CUTS);
    assert_true(size > 2 * CUTS && struck > CUTS / 2);
    server_expect_empty();
}

static void test_a_key_works_though_the_connection_breaks_at_any_byte(void **state)
{
    (void)state;
    cut_at_many_bytes(TCPPROXY_UP);
    cut_at_many_bytes(TCPPROXY_DOWN);
}

/* ---- The server ------------------------------------------------------------------------- */

/* The outcome is unknown then, so it may be tried again. */
static void test_a_key_can_be_retried_after_the_server_hung(void **state)
{
    static struct actor owner;
    struct session_key  key;
    char                error[HF_ERRMSG_MAX] = "";

    (void)state;
    actor_open(&owner, TTL_MS, "hangs");
    actor_take(&owner);
    session_key_take(owner.client, &key);
    server_tell("freeze");
    assert_int_equal(hf_end_session(key.bytes, key.size, 100, error, sizeof error),
                     HF_EDOWN);
    assert_true(error[0] != '\0');
    server_tell("thaw");
    session_key_end(&key);
    check_and_expect_loss(&owner);
    server_expect_empty();
}

/* Take the key of an owner, and cut off the owner but not the key. */
static void cut_owner_off(struct actor *owner, struct session_key *ret)
{
    struct session_key by_proxy;
    char               params[32];

    session_key_take(owner->client, &by_proxy);
    snprintf(params, sizeof params, "ttl=%dms", SHORT_MS);
    session_key_move(&by_proxy, server_url(params), ret);
    tcpproxy_refuse(proxy, true);
    tcpproxy_drop(proxy, TCPPROXY_ALL);
}

static void finish_dead_owner(struct actor *owner, struct actor *next)
{
    actor_give(next);
    actor_close(next);
    expect_loss(owner);
    tcpproxy_refuse(proxy, false);
    server_expect_empty();
}

/* On Redis that may be lost data, so nothing is granted for a ttl. */
static void test_a_key_works_after_a_restart_of_the_server(void **state)
{
    static struct actor owner, next;
    struct session_key  key;

    (void)state;
    open_by_proxy(&owner, SHORT_MS, "restarted");
    actor_open(&next, SHORT_MS, "restarted");
    actor_queue(&next, 1);
    cut_owner_off(&owner, &key);
    server_tell("kill");
    assert_int_equal(hf_end_session(key.bytes, key.size, 0, NULL, 0), HF_EDOWN);
    hf_time start = hf_now();
    server_tell("start");
    session_key_end(&key);
    actor_await(&next, HF_HELD);
    print_message("# granted %d ms after the server was started\n",
                  (int)((hf_now() - start) / HF_MS));
    assert_true(!is_redis || hf_now() - start >= SHORT_MS * HF_MS);
    finish_dead_owner(&owner, &next);
}

/* PostgreSQL does not undo it.  If Redis does, the lease runs out. */
static void test_a_crash_right_after_the_key_gives_no_lock_back(void **state)
{
    static struct actor owner, next;
    struct session_key  key;

    (void)state;
    open_by_proxy(&owner, SHORT_MS, "crashed");
    cut_owner_off(&owner, &key);
    session_key_end(&key);
    server_tell("restart");
    size_t held = server_holders("crashed");
    print_message("# %zu held after the crash\n", held);
    assert_true(is_redis || held == 0);
    actor_open(&next, SHORT_MS, "crashed");
    actor_take(&next);
    finish_dead_owner(&owner, &next);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            test_a_key_works_after_a_restart_of_the_server), /* before there are long leases */
        cmocka_unit_test(test_a_crash_right_after_the_key_gives_no_lock_back),
        cmocka_unit_test(test_the_owner_is_notified_and_the_next_is_granted),
        cmocka_unit_test(test_a_key_removes_all_of_many_places),
        cmocka_unit_test(test_a_key_is_the_same_on_every_connection),
        cmocka_unit_test(test_a_key_works_though_the_connection_breaks_at_any_byte),
        cmocka_unit_test(test_a_key_can_be_retried_after_the_server_hung),
    };

    is_redis = strcmp(server_find(), "redis") == 0;
    proxy = tcpproxy_start(server_address(), NULL);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    tcpproxy_stop(proxy);
    return failed;
}
