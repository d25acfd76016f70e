/* pipeline.c - many requests of one session are in flight on one connection.
 *
 * Each is a transaction of its own: one that fails does not affect the others.
 * Whatever happens to the connection, each is carried out once: there is one place for
 * each lock that is held, and none after its release.
 */
/* needs: standalone */
#include "lib/many_locks.h"
#include "lib/promise.h"
#include "lib/server_postgres.h"
#include "lib/tcpproxy.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#define LOCKS  24
#define ODD    7 /* the lock that a fault happens to */
#define PARTS  12
#define TTL_MS 10000 /* long enough that no fault ends a session */

static struct actor     one; /* has all the locks */
static struct actor     rival;
static struct hf_lock  *lock[LOCKS];
static struct tcpproxy *proxy;

static void name_of(size_t i, char ret[16])
{
    snprintf(ret, 16, "flight-%02zu", i);
}

static void open_all(int ttl_ms)
{
    actor_open_at(&one, tcpproxy_address(proxy), ttl_ms, "first");
    locks_make(one.client, "flight", lock, LOCKS);
}

static void close_all(void)
{
    locks_free(lock, LOCKS);
    actor_close(&one);
    server_expect_empty();
}

static long places(void)
{
    return postgres_number("SELECT count(*) FROM holdfast.every_place WHERE name LIKE "
                           "'flight-%%'");
}

static void await_places(long count)
{
    hf_time end = hf_now() + ACTOR_LIMIT_MS * HF_MS;

    while (places() != count && hf_now() < end)
        poll(NULL, 0, 1);
    assert_int_equal(places(), count);
}

/* Each lock is held by one place; then all are released. */
static void have_and_give(void)
{
    locks_await(lock, LOCKS, HF_HELD);
    assert_int_equal(places(), LOCKS);
    locks_give(lock, LOCKS);
    locks_await(lock, LOCKS, HF_IDLE);
    assert_int_equal(places(), 0);
    for (size_t i = 0; i < LOCKS; i++)
        assert_int_equal(hf_why(lock[i]), 0); /* it was held to the end */
}

/* Until all statements are prepared. */
static void warm_up(void)
{
    for (int i = 0; i < 2; i++) {
        locks_want(lock, LOCKS);
        have_and_give();
    }
}

/* ---- Without faults ---------------------------------------------------------------- */

static void requests_are_sent_without_waiting_for_answers(void **state)
{
    (void)state;
    open_all(TTL_MS);
    warm_up();
    tcpproxy_hold(proxy, TCPPROXY_DOWN, TCPPROXY_ALL);
    locks_want(lock, LOCKS);
    await_places(LOCKS);
    for (size_t i = 0; i < LOCKS; i++)
        assert_int_equal(hf_state(lock[i]), HF_WAITING);
    tcpproxy_hold(proxy, TCPPROXY_DOWN, TCPPROXY_NOBODY);
    locks_await(lock, LOCKS, HF_HELD);
    tcpproxy_hold(proxy, TCPPROXY_DOWN, TCPPROXY_ALL);
    locks_give(lock, LOCKS);
    await_places(0);
    tcpproxy_hold(proxy, TCPPROXY_DOWN, TCPPROXY_NOBODY);
    locks_await(lock, LOCKS, HF_IDLE);
    close_all();
}

/* By another handle. */
static void a_released_lock_can_be_acquired_again_at_once(void **state)
{
    struct hf_lock *again;
    char            name[16];

    (void)state;
    open_all(TTL_MS);
    warm_up();
    name_of(ODD, name);
    assert_int_equal(hf_mutex(one.client, name, &again), 0);
    for (int i = 0; i < 20; i++) {
        locks_want(lock, LOCKS);
        locks_await(lock, LOCKS, HF_HELD);
        locks_give(lock, LOCKS);
        assert_int_equal(hf_acquire(again, ACTOR_LIMIT_MS), 0);
        assert_int_equal(hf_release(again), 0);
        locks_await(lock, LOCKS, HF_IDLE);
    }
    hf_lock_free(again);
    close_all();
}

/* ---- A fault in one request ---------------------------------------------------------------------- */

/* `how` is executed when a place enters the line of the odd lock; `late`: at its commit. */
static void set_trap(const char *how, bool late)
{
    char name[16];

    name_of(ODD, name);
    server_tell("sql DROP SCHEMA IF EXISTS trap CASCADE; CREATE SCHEMA trap; "
                "CREATE SEQUENCE trap.strike");
    server_tell("sql CREATE FUNCTION trap.strike() RETURNS trigger LANGUAGE plpgsql "
                "SECURITY DEFINER AS $$ BEGIN IF NEW.name = '%s' AND "
                "nextval('trap.strike') = 1 THEN %s; END IF; RETURN NEW; END $$",
                name, how);
    server_tell("sql CREATE %s TRIGGER strike AFTER UPDATE ON holdfast.line %s "
                "FOR EACH ROW WHEN (NEW.last > OLD.last) EXECUTE FUNCTION trap.strike()",
                late ? "CONSTRAINT" : "", late ? "DEFERRABLE INITIALLY DEFERRED" : "");
}

static void remove_trap(void)
{
    assert_true(postgres_number("SELECT last_value FROM trap.strike") >= 1);
    server_tell("sql DROP SCHEMA trap CASCADE");
}

static void a_request_that_fails_does_not_affect_the_others(void **state)
{
    uint64_t before;

    (void)state;
    open_all(TTL_MS);
    warm_up();
    set_trap("RAISE 'trapped'", false);
    before = tcpproxy_connections(proxy);
    locks_want(lock, LOCKS);
    for (size_t i = 0; i < LOCKS; i++)
        lock_await(lock[i], i == ODD ? HF_IDLE : HF_HELD);
    assert_int_equal(hf_why(lock[ODD]), HF_ESTORE);
    assert_int_equal(places(), LOCKS - 1);
    assert_int_equal(hf_acquire_start(lock[ODD], ACTOR_LIMIT_MS), 0);
    have_and_give();
    assert_int_equal(tcpproxy_connections(proxy), before);
    remove_trap();
    close_all();
}

/* By a deadlock, a terminated server process or a cancel; in the statement or at its
 * commit. */
static void a_request_that_is_undone_is_repeated(void **state)
{
    static const char *const ways[] = {
        "RAISE 'trapped' USING ERRCODE = '40P01'",
        "PERFORM pg_terminate_backend(pg_backend_pid())",
        "PERFORM pg_cancel_backend(pg_backend_pid())",
    };

    (void)state;
    open_all(TTL_MS);
    warm_up();
    for (size_t i = 0; i < 2 * (sizeof ways / sizeof *ways); i++) {
        set_trap(ways[i / 2], i % 2 == 1);
        locks_want(lock, LOCKS);
        have_and_give();
        remove_trap();
        warm_up();
    }
    close_all();
}

/* While many requests are in flight. */
static void forgotten_prepared_statements_are_prepared_again(void **state)
{
    (void)state;
    open_all(TTL_MS);
    warm_up();
    set_trap("EXECUTE 'DEALLOCATE ALL'", false);
    uint64_t before = tcpproxy_connections(proxy);
    locks_want(lock, LOCKS);
    have_and_give();
    assert_int_equal(tcpproxy_connections(proxy), before);
    remove_trap();
    close_all();
}

/* The server forgets how to leave, but not how to enter.  A client that releases a
 * place and tries to get it back at once still finds it free. */
static void a_repeated_leave_stays_ahead_of_the_next_enter(void **state)
{
    struct player  player;
    struct request first, gone, again;
    char           name[16];

    (void)state;
    name_of(ODD, name);
    player_open_for(&player, TTL_MS);
    for (int i = 0; i < 4; i++) { /* the first two calls are not prepared */
        if (i == 3)
            set_trap("EXECUTE 'DEALLOCATE hf_leave'", false);
        enter(&player, name, MUTEX, &first);
        if (i < 3)
            leave(&player, name, first.req.id);
    }
    remove_trap();
    gone =
        (struct request){ .req = { .op = HF_LEAVE, .name = name, .id = first.req.id } };
    again = (struct request){ .req = { .op = HF_ENTER,
                                       .name = name,
                                       .id = ++player.ids,
                                       .shape = MUTEX,
                                       .only_free = true,
                                       .note = "" } };
    player_submit(&player, &gone);
    assert_int_equal(player_run(&player, &again), 0);
    assert_int_equal(gone.answers, 1);
    assert_true(is_granted(&again));
    assert_int_equal(places(), 1);
    leave(&player, name, again.req.id);
    assert_int_equal(places(), 0);
    player_close(&player);
}

/* ---- The connection ------------------------------------------------------------------- */

/* ENTERs, then LEAVEs: the server has carried them out. */
static void requests_whose_answers_are_lost_are_repeated(void **state)
{
    (void)state;
    open_all(TTL_MS);
    warm_up();
    tcpproxy_hold(proxy, TCPPROXY_DOWN, TCPPROXY_ALL);
    locks_want(lock, LOCKS);
    await_places(LOCKS);
    tcpproxy_drop(proxy, TCPPROXY_ALL);
    tcpproxy_hold(proxy, TCPPROXY_DOWN, TCPPROXY_NOBODY);
    have_and_give();
    warm_up();
    locks_want(lock, LOCKS);
    locks_await(lock, LOCKS, HF_HELD);
    tcpproxy_hold(proxy, TCPPROXY_DOWN, TCPPROXY_ALL);
    locks_give(lock, LOCKS);
    await_places(0);
    tcpproxy_drop(proxy, TCPPROXY_ALL);
    tcpproxy_hold(proxy, TCPPROXY_DOWN, TCPPROXY_NOBODY);
    locks_await(lock, LOCKS, HF_IDLE);
    close_all();
}

static void requests_that_are_lost_are_repeated(void **state)
{
    (void)state;
    open_all(TTL_MS);
    warm_up();
    for (int i = 0; i < 2; i++) {
        tcpproxy_hold(proxy, TCPPROXY_UP, TCPPROXY_ALL);
        if (i == 0)
            locks_want(lock, LOCKS);
        else
            locks_give(lock, LOCKS);
        poll(NULL, 0, 50); /* mostly long enough to send them */
        tcpproxy_drop(proxy, TCPPROXY_ALL);
        tcpproxy_hold(proxy, TCPPROXY_UP, TCPPROXY_NOBODY);
        locks_await(lock, LOCKS, i == 0 ? HF_HELD : HF_IDLE);
        assert_int_equal(places(), i == 0 ? LOCKS : 0);
    }
    close_all();
}

static void the_connection_is_cut_at_many_bytes(void **state)
{
    uint64_t struck = 0;

    (void)state;
    open_all(TTL_MS);
    for (enum tcpproxy_way way = TCPPROXY_UP; way <= TCPPROXY_DOWN; way++) {
        warm_up();
        uint64_t before = tcpproxy_bytes(proxy, way, TCPPROXY_ALL);
        locks_want(lock, LOCKS);
        have_and_give();
        uint64_t size = tcpproxy_bytes(proxy, way, TCPPROXY_ALL) - before;
        for (uint64_t i = 0; i < PARTS; i++) {
            tcpproxy_cut(proxy, way, TCPPROXY_ALL, 1 + i * size / PARTS);
            locks_want(lock, LOCKS);
            have_and_give();
            struck += tcpproxy_has_struck(proxy);
            tcpproxy_forget(proxy);
        }
    }
    print_message("# %d of %d cuts\n", (int)struck, 2 * PARTS);
    assert_true(struck > PARTS);
    close_all();
}

/* They arrive on the old connection after all locks were acquired and released on a
 * newer one.  Another client has one of the locks by then. */
static void requests_that_arrive_late_change_nothing(void **state)
{
    char     name[16];
    uint64_t token;

    (void)state;
    open_all(1500);
    warm_up();
    name_of(ODD, name);
    actor_open(&rival, TTL_MS, name);
    tcpproxy_strand(proxy, true);
    locks_want(lock, LOCKS);
    have_and_give();
    token = actor_take(&rival);
    tcpproxy_strand(proxy, false);
    for (int i = 0; i < 30; i++) {
        poll(NULL, 0, 10);
        assert_int_equal(places(), 1);
    }
    assert_int_equal(hf_token(rival.lock), token);
    actor_give(&rival);
    actor_close(&rival);
    close_all();
}

static int open_first(void **state)
{
    (void)state;
    actor_open(&one, TTL_MS, "first"); /* makes the schema */
    actor_take(&one);
    actor_give(&one);
    actor_close(&one);
    promise_use(server_url(""));
    proxy = tcpproxy_start(server_address(), NULL);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_are_sent_without_waiting_for_answers),
        cmocka_unit_test(a_released_lock_can_be_acquired_again_at_once),
        cmocka_unit_test(a_request_that_fails_does_not_affect_the_others),
        cmocka_unit_test(a_request_that_is_undone_is_repeated),
        cmocka_unit_test(forgotten_prepared_statements_are_prepared_again),
        cmocka_unit_test(a_repeated_leave_stays_ahead_of_the_next_enter),
        cmocka_unit_test(requests_whose_answers_are_lost_are_repeated),
        cmocka_unit_test(requests_that_are_lost_are_repeated),
        cmocka_unit_test(the_connection_is_cut_at_many_bytes),
        cmocka_unit_test(requests_that_arrive_late_change_nothing),
    };

    server_find();
    int failed = cmocka_run_group_tests(tests, open_first, NULL);
    tcpproxy_stop(proxy);
    return failed;
}
