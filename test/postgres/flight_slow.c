/* flight_slow.c - many requests are under way, and the server takes its time for each.
 *
 * Each is answered in time, but all of them together take longer than the lease: it must be
 * renewed meanwhile.  What cannot be answered is stopped, and no backend stays behind.
 */
/* needs: standalone */
#include "lib/fleet.h"
#include "lib/promise.h"
#include "lib/witness_postgres.h"

#include <poll.h>
#include <stdio.h>

#define LOCKS  40
#define TTL_MS 3000

static struct actor    one;
static struct hf_lock *lock[LOCKS];

static void open_all(void)
{
    actor_open(&one, TTL_MS, "first");
    fleet_make(one.client, "slow", lock, LOCKS);
}

static void close_all(void)
{
    fleet_free(lock, LOCKS);
    actor_close(&one);
    witness_empty();
}

/* So that all is prepared, but for renewals, and many may be under way. */
static void warm_up(void)
{
    for (int i = 0; i < 2; i++) {
        fleet_want(lock, LOCKS);
        fleet_await(lock, LOCKS, HF_HELD);
        fleet_give(lock, LOCKS);
        fleet_await(lock, LOCKS, HF_IDLE);
    }
}

static void pause_ms(int ms)
{
    hf_time end = hf_now() + ms * HF_MS;

    while (hf_now() < end)
        poll(NULL, 0, hf_poll_ms(hf_now(), end));
}

/* While trap.sleep has a row, each that enters takes a quarter of the ttl.  While trap.forget
 * has one, the server forgets how to leave. */
static void set_trap(void)
{
    witness_tell("sql CREATE SCHEMA trap; CREATE TABLE trap.sleep (seconds real); "
                 "CREATE TABLE trap.forget (it boolean)");
    witness_tell(
        "sql CREATE FUNCTION trap.strike() RETURNS trigger LANGUAGE plpgsql "
        "SECURITY DEFINER AS $$ BEGIN PERFORM pg_sleep(seconds) FROM trap.sleep; "
        "IF EXISTS (SELECT FROM trap.forget) THEN EXECUTE 'DEALLOCATE hf_leave'; END IF; "
        "RETURN NEW; END $$");
    witness_tell("sql CREATE TRIGGER strike AFTER INSERT ON holdfast.ticket FOR EACH ROW "
                 "EXECUTE FUNCTION trap.strike()");
}

static void remove_trap(void)
{
    witness_tell("sql DROP SCHEMA trap CASCADE");
}

static long renewal(void)
{
    return postgres_number("SELECT coalesce(max(renewal), 0) FROM holdfast.session");
}

/* The first renewal on a connection is not prepared, the second is to be: it must not wait
 * for all that is under way. */
static void the_lease_goes_on(void **state)
{
    (void)state;
    open_all();
    set_trap();
    actor_take(&one);
    warm_up();
    long first = renewal();
    while (renewal() == first)
        pause_ms(10);
    witness_tell("sql INSERT INTO trap.sleep VALUES (%f)", TTL_MS / 4000.0);
    fleet_want(lock, LOCKS);
    pause_ms(2 * TTL_MS);
    enum hf_state then = hf_state(one.lock);
    witness_tell("sql DELETE FROM trap.sleep");
    assert_int_equal(then, HF_HELD);
    assert_true(one.lost == 0);
    fleet_await(lock, LOCKS, HF_HELD);
    fleet_give(lock, LOCKS);
    fleet_await(lock, LOCKS, HF_IDLE);
    actor_give(&one);
    remove_trap();
    close_all();
}

/* What is to be sent again waits until all that is under way is answered, and the renewal waits
 * behind it: too long, so the connection is given up. */
static void a_renewal_waits_to_be_sent(void **state)
{
    (void)state;
    open_all();
    set_trap();
    actor_take(&one);
    warm_up();
    witness_tell("sql INSERT INTO trap.forget VALUES (true)");
    assert_int_equal(hf_acquire(lock[0], ACTOR_LIMIT_MS), 0);
    witness_tell("sql DELETE FROM trap.forget");
    witness_tell("sql INSERT INTO trap.sleep VALUES (%f)", TTL_MS / 4000.0);
    assert_int_equal(hf_release_start(lock[0]), 0);
    for (size_t i = 1; i < LOCKS; i++)
        assert_int_equal(hf_acquire_start(lock[i], ACTOR_LIMIT_MS), 0);
    pause_ms(2 * TTL_MS);
    enum hf_state then = hf_state(one.lock);
    witness_tell("sql DELETE FROM trap.sleep");
    assert_int_equal(then, HF_HELD);
    assert_true(one.lost == 0);
    lock_await(lock[0], HF_IDLE);
    assert_int_equal(hf_acquire(lock[0], ACTOR_LIMIT_MS), 0);
    fleet_await(lock, LOCKS, HF_HELD);
    fleet_give(lock, LOCKS);
    fleet_await(lock, LOCKS, HF_IDLE);
    actor_give(&one);
    remove_trap();
    close_all();
}

static long backends(void)
{
    return postgres_number("SELECT count(*) FROM pg_stat_activity "
                           "WHERE application_name ~ '^holdfast'");
}

/* Nobody is answered: we come again and again.  The first under way is stopped, and those
 * behind it are not begun. */
static void no_backend_stays_behind(void **state)
{
    long most = 0;

    (void)state;
    open_all();
    actor_take(&one);
    warm_up();
    set_trap();
    witness_tell("sql INSERT INTO trap.sleep VALUES (1000)");
    fleet_want(lock, LOCKS);
    for (int i = 0; i < 2 * TTL_MS / 100; i++) {
        pause_ms(100);
        long now = backends();
        most = now > most ? now : most;
    }
    witness_tell("sql DELETE FROM trap.sleep");
    print_message("# %ld at most\n", most);
    assert_true(most <= 3);
    assert_true(one.lost == 0);
    fleet_await(lock, LOCKS, HF_HELD);
    fleet_give(lock, LOCKS);
    fleet_await(lock, LOCKS, HF_IDLE);
    actor_give(&one);
    remove_trap();
    close_all();
}

static int open_first(void **state)
{
    (void)state;
    actor_open(&one, TTL_MS, "first"); /* makes the schema */
    actor_take(&one);
    actor_give(&one);
    actor_close(&one);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_lease_goes_on),
        cmocka_unit_test(a_renewal_waits_to_be_sent),
        cmocka_unit_test(no_backend_stays_behind),
    };

    witness_start();
    return cmocka_run_group_tests(tests, open_first, NULL);
}
