/* broken_connections.c - the server ends our connection at every step of an acquire and
 * a release, alone and with a hand-over, or fails as in a deadlock; and the connection
 * is cut in the middle of requests and answers.
 *
 * lib/lock_round.h says what must be true all the time.  A step is a row that is about to be
 * changed or was just changed, or a commit that is about to be made.
 */
/* needs: standalone */
#include "lib/lock_round.h"
#include "lib/promise.h"
#include "lib/server_postgres.h"
#include "lib/tcpproxy.h"

#include <poll.h>

#define TTL_MS 10000 /* long: no fault ends a session, and there are few renewals */
#define STEPS  200   /* more than enough */

static void open_scene(struct lock_round *round, const char *url)
{
    *round = (struct lock_round){ .name = "scene", .limit_ms = ACTOR_LIMIT_MS };
    actor_open_url(&round->a, url, round->name);
    actor_open(&round->b, TTL_MS, round->name);
}

/* ---- Steps ---------------------------------------------------------------------------- */

/* A trigger counts the steps, with a sequence, which is never undone. */
static void set_trap(void)
{
    static const char *const tables[] = { "session", "line", "place", "bias", "watch" };

    server_tell("sql CREATE SCHEMA trap; CREATE SEQUENCE trap.step; "
                "CREATE TABLE trap.target (at bigint, how text); "
                "INSERT INTO trap.target VALUES (0, '')");
    server_tell("sql CREATE FUNCTION trap.count() RETURNS trigger LANGUAGE plpgsql "
                "SECURITY DEFINER AS $$ DECLARE v_how text; BEGIN "
                "SELECT how INTO v_how FROM trap.target WHERE at = nextval('trap.step'); "
                "IF v_how = 'end' THEN PERFORM pg_terminate_backend(pg_backend_pid()); "
                "ELSIF v_how <> '' THEN RAISE 'trapped' USING ERRCODE = v_how; END IF; "
                "RETURN coalesce(NEW, OLD); END $$");
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        static const char *const times[] = { "BEFORE", "AFTER" };
        for (size_t j = 0; j < 2; j++)
            server_tell("sql CREATE TRIGGER trap%zu %s INSERT OR UPDATE OR DELETE "
                        "ON holdfast.%s FOR EACH ROW EXECUTE FUNCTION trap.count()",
                        j, times[j], tables[i]);
        server_tell(
            "sql CREATE CONSTRAINT TRIGGER trap2 AFTER INSERT OR UPDATE OR DELETE "
            "ON holdfast.%s DEFERRABLE INITIALLY DEFERRED "
            "FOR EACH ROW EXECUTE FUNCTION trap.count()",
            tables[i]);
    }
}

static void aim(long step, const char *how)
{
    server_tell("sql UPDATE trap.target SET at = %ld, how = '%s'; "
                "SELECT setval('trap.step', 1, false)",
                step, how);
}

/* `how`: to end the connection, or an SQLSTATE to fail with. */
static void at_every_step(lock_round_play *play, const char *how)
{
    static struct lock_round round;
    long                     step = 0, steps;

    open_scene(&round, server_url("ttl=10s"));
    play(&round);
    do {
        aim(++step, how);
        play(&round);
        steps = postgres_number("SELECT last_value FROM trap.step");
    } while (steps >= step && step < STEPS);
    aim(0, "");
    print_message("# %ld steps\n", step - 1);
    assert_true(step > 10 && step < STEPS);
    lock_round_close(&round);
}

static void the_server_ends_the_connection_at_every_step(void **state)
{
    (void)state;
    at_every_step(lock_round_alone, "end");
}

static void the_server_ends_the_connection_at_every_step_of_a_hand_over(void **state)
{
    (void)state;
    at_every_step(lock_round_handed_over, "end");
}

/* By a deadlock, or a conflict with another transaction: it is repeated, and nobody
 * notices. */
static void a_transaction_is_undone_at_every_step(void **state)
{
    (void)state;
    at_every_step(lock_round_alone, "40P01");
    at_every_step(lock_round_handed_over, "40001");
}

/* As pg_cancel_backend() and statement_timeout do it. */
static void a_call_is_canceled_at_every_step(void **state)
{
    (void)state;
    at_every_step(lock_round_alone, "57014");
}

/* While the lock changes hands. */
static void all_connections_end_again_and_again(void **state)
{
    static struct lock_round round;

    (void)state;
    open_scene(&round, server_url("ttl=10s"));
    for (int i = 0; i < 12; i++) {
        actor_start(&round.a);
        poll(NULL, 0, i);
        server_tell("terminate");
        actor_await(&round.a, HF_HELD);
        lock_round_have_and_leave(&round);
    }
    lock_round_close(&round);
}

/* ---- Cuts ----------------------------------------------------------------------------- */

static struct tcpproxy *proxy;

static void cut(struct lock_round *round, lock_round_play *play, enum tcpproxy_way way,
                uint64_t parts)
{
    play(round);
    uint64_t before = tcpproxy_bytes(proxy, way, TCPPROXY_ALL), struck = 0;
    play(round);
    uint64_t size = tcpproxy_bytes(proxy, way, TCPPROXY_ALL) - before;

    assert_true(size > parts);
    for (uint64_t i = 0; i < parts; i++) {
        tcpproxy_cut(proxy, way, TCPPROXY_ALL, 1 + i * size / parts);
        play(round);
        struck += tcpproxy_has_struck(proxy);
        tcpproxy_forget(proxy);
    }
    print_message("# %s: %d bytes, %d of %d cuts\n", way == TCPPROXY_UP ? "up" : "down",
                  (int)size, (int)struck, (int)parts);
    assert_true(struck > parts / 2);
}

static void the_connection_is_cut_at_many_bytes(void **state)
{
    static struct lock_round round;

    (void)state;
    proxy = tcpproxy_start(server_address(), NULL);
    open_scene(&round, server_url_at(tcpproxy_address(proxy), "ttl=10s"));
    cut(&round, lock_round_alone, TCPPROXY_UP, 12);
    cut(&round, lock_round_alone, TCPPROXY_DOWN, 16);
    cut(&round, lock_round_handed_over, TCPPROXY_UP, 12);
    cut(&round, lock_round_handed_over, TCPPROXY_DOWN, 16);
    lock_round_close(&round);
    tcpproxy_stop(proxy);
}

static int open_and_trap(void **state)
{
    static struct actor first;

    (void)state;
    actor_open(&first, TTL_MS, "first"); /* makes the schema */
    actor_take(&first);
    actor_give(&first);
    actor_close(&first);
    set_trap();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_server_ends_the_connection_at_every_step),
        cmocka_unit_test(the_server_ends_the_connection_at_every_step_of_a_hand_over),
        cmocka_unit_test(a_transaction_is_undone_at_every_step),
        cmocka_unit_test(a_call_is_canceled_at_every_step),
        cmocka_unit_test(all_connections_end_again_and_again),
        cmocka_unit_test(the_connection_is_cut_at_many_bytes),
    };

    server_find();
    return cmocka_run_group_tests(tests, open_and_trap, NULL);
}
