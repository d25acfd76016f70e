/* pipeline_slow_server.c - many requests are in flight, and the server is slow.
 *
 * It answers each in time, but all of them take longer than the lease, which must be
 * renewed meanwhile.  A call that is not answered is canceled, and no server process
 * stays behind.
 */
/* needs: standalone */
#include "lib/many_locks.h"
#include "lib/promise.h"
#include "lib/server_postgres.h"

#include <poll.h>
#include <stdio.h>

#define LOCKS  40
#define TTL_MS 3000

static struct actor    one;
static struct hf_lock *lock[LOCKS];

static void open_all(void)
{
    actor_open(&one, TTL_MS, "first");
    locks_make(one.client, "slow", lock, LOCKS);
}

static void close_all(void)
{
    locks_free(lock, LOCKS);
    actor_close(&one);
    server_expect_empty();
}

/* Until all statements but renewals are prepared, and many calls may be in flight. */
static void warm_up(void)
{
    for (int i = 0; i < 2; i++) {
        locks_want(lock, LOCKS);
        locks_await(lock, LOCKS, HF_HELD);
        locks_give(lock, LOCKS);
        locks_await(lock, LOCKS, HF_IDLE);
    }
}

static void pause_ms(int ms)
{
    hf_time end = hf_now() + ms * HF_MS;

    while (hf_now() < end)
        poll(NULL, 0, hf_poll_ms(hf_now(), end));
}

/* While trap.sleep has a row, each ENTER takes a quarter of the ttl.  While trap.forget
 * has one, the server forgets the prepared LEAVE. */
static void set_trap(void)
{
    server_tell("sql CREATE SCHEMA trap; CREATE TABLE trap.sleep (seconds real); "
                "CREATE TABLE trap.forget (it boolean)");
    server_tell(
        "sql CREATE FUNCTION trap.strike() RETURNS trigger LANGUAGE plpgsql "
        "SECURITY DEFINER AS $$ BEGIN PERFORM pg_sleep(seconds) FROM trap.sleep; "
        "IF EXISTS (SELECT FROM trap.forget) THEN EXECUTE 'DEALLOCATE hf_leave'; END IF; "
        "RETURN NEW; END $$");
    server_tell("sql CREATE TRIGGER strike AFTER UPDATE ON holdfast.line FOR EACH ROW "
                "WHEN (NEW.last > OLD.last) EXECUTE FUNCTION trap.strike()");
}

static void remove_trap(void)
{
    server_tell("sql DROP SCHEMA trap CASCADE");
}

/* All requests are carried out in the end. */
static void get_and_release_all(void)
{
    locks_await(lock, LOCKS, HF_HELD);
    locks_give(lock, LOCKS);
    locks_await(lock, LOCKS, HF_IDLE);
    actor_give(&one);
    remove_trap();
    close_all();
}

static long renewal(void)
{
    return postgres_number("SELECT coalesce(max(renewal), 0) FROM holdfast.session");
}

/* The second renewal on a connection would be prepared first.  That must not make it
 * wait for all calls in flight. */
static void the_lease_is_renewed_behind_many_slow_calls(void **state)
{
    (void)state;
    open_all();
    set_trap();
    actor_take(&one);
    warm_up();
    long first = renewal();
    while (renewal() == first)
        pause_ms(10);
    server_tell("sql INSERT INTO trap.sleep VALUES (%f)", TTL_MS / 4000.0);
    locks_want(lock, LOCKS);
    pause_ms(2 * TTL_MS);
    enum hf_state then = hf_state(one.lock);
    server_tell("sql DELETE FROM trap.sleep");
    assert_int_equal(then, HF_HELD);
    assert_true(one.lost == 0);
    get_and_release_all();
}

/* A call that has to be sent again waits until nothing is in flight, and the renewal
 * waits behind it: too long, so the client gives up the connection. */
static void a_renewal_that_waits_too_long_in_the_queue_breaks_the_connection(void **state)
{
    (void)state;
    open_all();
    set_trap();
    actor_take(&one);
    warm_up();
    server_tell("sql INSERT INTO trap.forget VALUES (true)");
    assert_int_equal(hf_acquire(lock[0], ACTOR_LIMIT_MS), 0);
    server_tell("sql DELETE FROM trap.forget");
    server_tell("sql INSERT INTO trap.sleep VALUES (%f)", TTL_MS / 4000.0);
    assert_int_equal(hf_release_start(lock[0]), 0);
    for (size_t i = 1; i < LOCKS; i++)
        assert_int_equal(hf_acquire_start(lock[i], ACTOR_LIMIT_MS), 0);
    pause_ms(2 * TTL_MS);
    enum hf_state then = hf_state(one.lock);
    server_tell("sql DELETE FROM trap.sleep");
    assert_int_equal(then, HF_HELD);
    assert_true(one.lost == 0);
    lock_await(lock[0], HF_IDLE);
    assert_int_equal(hf_acquire(lock[0], ACTOR_LIMIT_MS), 0);
    get_and_release_all();
}

static long backends(void)
{
    return postgres_number("SELECT count(*) FROM pg_stat_activity "
                           "WHERE application_name ~ '^holdfast'");
}

/* The server does not answer, so the client reconnects again and again.  Each time the
 * server must stop the first call, and not begin the next. */
static void no_server_process_stays_behind(void **state)
{
    long most = 0;

    (void)state;
    open_all();
    actor_take(&one);
    warm_up();
    set_trap();
    server_tell("sql INSERT INTO trap.sleep VALUES (1000)");
    locks_want(lock, LOCKS);
    for (int i = 0; i < 2 * TTL_MS / 100; i++) {
        pause_ms(100);
        long now = backends();
        most = now > most ? now : most;
    }
    server_tell("sql DELETE FROM trap.sleep");
    print_message("# %ld at most\n", most);
    assert_true(most <= 3);
    assert_true(one.lost == 0);
    get_and_release_all();
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
        cmocka_unit_test(the_lease_is_renewed_behind_many_slow_calls),
        cmocka_unit_test(
            a_renewal_that_waits_too_long_in_the_queue_breaks_the_connection),
        cmocka_unit_test(no_server_process_stays_behind),
    };

    server_find();
    return cmocka_run_group_tests(tests, open_first, NULL);
}
