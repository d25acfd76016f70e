/* flight.c - many requests of one session are under way on one connection.
 *
 * Each is a transaction of its own: one that fails does not concern the others.  Whatever
 * becomes of the connection meanwhile, each is carried out once: there is one place for each
 * lock that is held, and none after its release.
 */
/* needs: standalone */
#include "lib/fleet.h"
#include "lib/promise.h"
#include "lib/tcpproxy.h"
#include "lib/witness_postgres.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#define LOCKS  24
#define ODD    7 /* the one that something happens to */
#define PARTS  12
#define TTL_MS 10000 /* so long that no fault ends a session */

static struct actor     one; /* has them all */
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
    fleet_make(one.client, "flight", lock, LOCKS);
}

static void close_all(void)
{
    fleet_free(lock, LOCKS);
    actor_close(&one);
    witness_empty();
}

static long places(void)
{
    return postgres_number("SELECT count(*) FROM holdfast.ticket WHERE name LIKE "
                           "'flight-%%'");
}

static void await_places(long count)
{
    hf_time end = hf_now() + ACTOR_LIMIT_MS * HF_MS;

    while (places() != count && hf_now() < end)
        poll(NULL, 0, 1);
    assert_int_equal(places(), count);
}

/* All are held, each by one place; then none is. */
static void have_and_give(void)
{
    fleet_await(lock, LOCKS, HF_HELD);
    assert_int_equal(places(), LOCKS);
    fleet_give(lock, LOCKS);
    fleet_await(lock, LOCKS, HF_IDLE);
    assert_int_equal(places(), 0);
    for (size_t i = 0; i < LOCKS; i++)
        assert_int_equal(hf_why(lock[i]), 0); /* it was ours to the end */
}

/* So that all is prepared. */
static void warm_up(void)
{
    for (int i = 0; i < 2; i++) {
        fleet_want(lock, LOCKS);
        have_and_give();
    }
}

/* ---- While all is well ---------------------------------------------------------------- */

/* No answer comes, and all is done. */
static void no_answer_is_waited_for(void **state)
{
    (void)state;
    open_all(TTL_MS);
    warm_up();
    tcpproxy_hold(proxy, TCPPROXY_DOWN, TCPPROXY_ALL);
    fleet_want(lock, LOCKS);
    await_places(LOCKS);
    for (size_t i = 0; i < LOCKS; i++)
        assert_int_equal(hf_state(lock[i]), HF_WAITING);
    tcpproxy_hold(proxy, TCPPROXY_DOWN, TCPPROXY_NOBODY);
    fleet_await(lock, LOCKS, HF_HELD);
    tcpproxy_hold(proxy, TCPPROXY_DOWN, TCPPROXY_ALL);
    fleet_give(lock, LOCKS);
    await_places(0);
    tcpproxy_hold(proxy, TCPPROXY_DOWN, TCPPROXY_NOBODY);
    fleet_await(lock, LOCKS, HF_IDLE);
    close_all();
}

/* Who gives a lock up and wants it back at once, by another handle, has it again. */
static void what_is_given_up_can_be_had_again(void **state)
{
    struct hf_lock *again;
    char            name[16];

    (void)state;
    open_all(TTL_MS);
    warm_up();
    name_of(ODD, name);
    assert_int_equal(hf_mutex(one.client, name, &again), 0);
    for (int i = 0; i < 20; i++) {
        fleet_want(lock, LOCKS);
        fleet_await(lock, LOCKS, HF_HELD);
        fleet_give(lock, LOCKS);
        assert_int_equal(hf_acquire(again, ACTOR_LIMIT_MS), 0);
        assert_int_equal(hf_release(again), 0);
        fleet_await(lock, LOCKS, HF_IDLE);
    }
    hf_lock_free(again);
    close_all();
}

/* ---- One of them ---------------------------------------------------------------------- */

/* `how`: what to do when the odd one is written; at its commit, if so wanted. */
static void set_trap(const char *how, bool late)
{
    char name[16];

    name_of(ODD, name);
    witness_tell("sql DROP SCHEMA IF EXISTS trap CASCADE; CREATE SCHEMA trap; "
                 "CREATE SEQUENCE trap.strike");
    witness_tell("sql CREATE FUNCTION trap.strike() RETURNS trigger LANGUAGE plpgsql "
                 "SECURITY DEFINER AS $$ BEGIN IF NEW.name = '%s' AND "
                 "nextval('trap.strike') = 1 THEN %s; END IF; RETURN NEW; END $$",
                 name, how);
    witness_tell("sql CREATE %s TRIGGER strike AFTER INSERT ON holdfast.ticket %s "
                 "FOR EACH ROW EXECUTE FUNCTION trap.strike()",
                 late ? "CONSTRAINT" : "", late ? "DEFERRABLE INITIALLY DEFERRED" : "");
}

static void remove_trap(void)
{
    assert_true(postgres_number("SELECT last_value FROM trap.strike") >= 1);
    witness_tell("sql DROP SCHEMA trap CASCADE");
}

static void one_fails_alone(void **state)
{
    uint64_t before;

    (void)state;
    open_all(TTL_MS);
    warm_up();
    set_trap("RAISE 'trapped'", false);
    before = tcpproxy_connections(proxy);
    fleet_want(lock, LOCKS);
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

/* As in a deadlock; and by the server's own end.  At its commit, too. */
static void one_is_undone(void **state)
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
        fleet_want(lock, LOCKS);
        have_and_give();
        remove_trap();
        warm_up();
    }
    close_all();
}

/* The server forgets what was prepared while many are under way. */
static void all_is_forgotten(void **state)
{
    (void)state;
    open_all(TTL_MS);
    warm_up();
    set_trap("EXECUTE 'DEALLOCATE ALL'", false);
    uint64_t before = tcpproxy_connections(proxy);
    fleet_want(lock, LOCKS);
    have_and_give();
    assert_int_equal(tcpproxy_connections(proxy), before);
    remove_trap();
    close_all();
}

/* It forgets how to leave, but not how to enter: who gives a place up and tries to have it back
 * at once finds it free all the same. */
static void leaving_is_forgotten(void **state)
{
    struct player player;
    struct ask    first, gone, again;
    char          name[16];

    (void)state;
    name_of(ODD, name);
    player_open_for(&player, TTL_MS);
    for (int i = 0; i < 4; i++) { /* the first two are not prepared */
        if (i == 3)
            set_trap("EXECUTE 'DEALLOCATE hf_leave'", false);
        enter(&player, name, MUTEX, &first);
        if (i < 3)
            leave(&player, name, first.req.id);
    }
    remove_trap();
    gone = (struct ask){ .req = { .op = HF_LEAVE, .name = name, .id = first.req.id } };
    again = (struct ask){ .req = { .op = HF_ENTER,
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

/* Done, and nobody knows: of ENTER, and of LEAVE. */
static void answers_are_lost(void **state)
{
    (void)state;
    open_all(TTL_MS);
    warm_up();
    tcpproxy_hold(proxy, TCPPROXY_DOWN, TCPPROXY_ALL);
    fleet_want(lock, LOCKS);
    await_places(LOCKS);
    tcpproxy_drop(proxy, TCPPROXY_ALL);
    tcpproxy_hold(proxy, TCPPROXY_DOWN, TCPPROXY_NOBODY);
    have_and_give();
    warm_up();
    fleet_want(lock, LOCKS);
    fleet_await(lock, LOCKS, HF_HELD);
    tcpproxy_hold(proxy, TCPPROXY_DOWN, TCPPROXY_ALL);
    fleet_give(lock, LOCKS);
    await_places(0);
    tcpproxy_drop(proxy, TCPPROXY_ALL);
    tcpproxy_hold(proxy, TCPPROXY_DOWN, TCPPROXY_NOBODY);
    fleet_await(lock, LOCKS, HF_IDLE);
    close_all();
}

static void questions_are_lost(void **state)
{
    (void)state;
    open_all(TTL_MS);
    warm_up();
    for (int i = 0; i < 2; i++) {
        tcpproxy_hold(proxy, TCPPROXY_UP, TCPPROXY_ALL);
        if (i == 0)
            fleet_want(lock, LOCKS);
        else
            fleet_give(lock, LOCKS);
        poll(NULL, 0, 50); /* so that they are sent, mostly */
        tcpproxy_drop(proxy, TCPPROXY_ALL);
        tcpproxy_hold(proxy, TCPPROXY_UP, TCPPROXY_NOBODY);
        fleet_await(lock, LOCKS, i == 0 ? HF_HELD : HF_IDLE);
        assert_int_equal(places(), i == 0 ? LOCKS : 0);
    }
    close_all();
}

static void cut_somewhere(void **state)
{
    uint64_t struck = 0;

    (void)state;
    open_all(TTL_MS);
    for (enum tcpproxy_way way = TCPPROXY_UP; way <= TCPPROXY_DOWN; way++) {
        warm_up();
        uint64_t before = tcpproxy_bytes(proxy, way, TCPPROXY_ALL);
        fleet_want(lock, LOCKS);
        have_and_give();
        uint64_t size = tcpproxy_bytes(proxy, way, TCPPROXY_ALL) - before;
        for (uint64_t i = 0; i < PARTS; i++) {
            tcpproxy_cut(proxy, way, TCPPROXY_ALL, 1 + i * size / PARTS);
            fleet_want(lock, LOCKS);
            have_and_give();
            struck += tcpproxy_has_struck(proxy);
            tcpproxy_forget(proxy);
        }
    }
    print_message("# %d of %d cuts\n", (int)struck, 2 * PARTS);
    assert_true(struck > PARTS);
    close_all();
}

/* What was sent on the old connection arrives when all was done, and undone, on a newer
 * one.  Another client has one of the locks then. */
static void late_ones_do_nothing(void **state)
{
    char     name[16];
    uint64_t token;

    (void)state;
    open_all(1500);
    warm_up();
    name_of(ODD, name);
    actor_open(&rival, TTL_MS, name);
    tcpproxy_strand(proxy, true);
    fleet_want(lock, LOCKS);
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
    promise_use(witness_url(""));
    proxy = tcpproxy_start(witness_server(), NULL);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_answer_is_waited_for),
        cmocka_unit_test(what_is_given_up_can_be_had_again),
        cmocka_unit_test(one_fails_alone),
        cmocka_unit_test(one_is_undone),
        cmocka_unit_test(all_is_forgotten),
        cmocka_unit_test(leaving_is_forgotten),
        cmocka_unit_test(answers_are_lost),
        cmocka_unit_test(questions_are_lost),
        cmocka_unit_test(cut_somewhere),
        cmocka_unit_test(late_ones_do_nothing),
    };

    witness_start();
    int failed = cmocka_run_group_tests(tests, open_first, NULL);
    tcpproxy_stop(proxy);
    return failed;
}
