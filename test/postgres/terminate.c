/* terminate.c - the server ends our connection at every step of an acquire and a release,
 * alone and with a hand-over, or fails as it does in a deadlock; and the connection is cut
 * in the middle of questions and answers.
 *
 * Whatever was done and undone: one place while the lock is held, none after its release,
 * release says 0, and the next gets in.  A step is a row that is about to be changed or was
 * just changed, or a commit that is about to be made.
 */
/* needs: standalone */
#include "lib/promise.h"
#include "lib/tcpproxy.h"
#include "lib/witness_postgres.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TTL_MS 10000 /* so long that no fault ends a session, and few renewals disturb */
#define STEPS  200   /* more than there are */

/* The client that suffers, and another. */
struct stage {
    struct actor a, b;
    uint64_t     token;
};

static void stage_open(struct stage *stage, const char *url)
{
    actor_open_url(&stage->a, url, "scene");
    actor_open(&stage->b, TTL_MS, "scene");
    stage->token = 0;
}

static void stage_close(struct stage *stage)
{
    actor_close(&stage->a);
    actor_close(&stage->b);
    witness_empty();
}

/* ---- Scenes --------------------------------------------------------------------------- */

/* One place while it is held, none afterwards; and the other one can have it. */
static void have_and_leave(struct stage *stage)
{
    assert_int_equal(hf_state(stage->a.lock), HF_HELD);
    assert_int_equal(witness_holders("scene"), 1);
    assert_int_equal(witness_waiters("scene"), 0);
    assert_true(hf_token(stage->a.lock) > stage->token);
    actor_give(&stage->a);
    assert_int_equal(witness_holders("scene"), 0);
    assert_int_equal(hf_acquire(stage->b.lock, ACTOR_LIMIT_MS), 0);
    stage->token = hf_token(stage->b.lock);
    assert_true(stage->token > hf_token(stage->a.lock));
    actor_give(&stage->b);
}

static void alone(struct stage *stage)
{
    actor_take(&stage->a);
    have_and_leave(stage);
}

/* The other one has it; the client queues, and gets it. */
static void handed_over(struct stage *stage)
{
    actor_take(&stage->b);
    actor_queue(&stage->a, 1);
    actor_give(&stage->b);
    actor_await(&stage->a, HF_HELD);
    have_and_leave(stage);
}

/* ---- Steps ---------------------------------------------------------------------------- */

/* A trigger counts them; a sequence goes on counting whatever is undone. */
static void set_trap(void)
{
    static const char *const tables[] = { "session", "line", "ticket", "watch" };

    witness_tell("sql CREATE SCHEMA trap; CREATE SEQUENCE trap.step; "
                 "CREATE TABLE trap.target (at bigint, how text); "
                 "INSERT INTO trap.target VALUES (0, '')");
    witness_tell(
        "sql CREATE FUNCTION trap.count() RETURNS trigger LANGUAGE plpgsql "
        "SECURITY DEFINER AS $$ DECLARE v_how text; BEGIN "
        "SELECT how INTO v_how FROM trap.target WHERE at = nextval('trap.step'); "
        "IF v_how = 'end' THEN PERFORM pg_terminate_backend(pg_backend_pid()); "
        "ELSIF v_how <> '' THEN RAISE 'trapped' USING ERRCODE = v_how; END IF; "
        "RETURN coalesce(NEW, OLD); END $$");
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        static const char *const times[] = { "BEFORE", "AFTER" };
        for (size_t j = 0; j < 2; j++)
            witness_tell("sql CREATE TRIGGER trap%zu %s INSERT OR UPDATE OR DELETE "
                         "ON holdfast.%s FOR EACH ROW EXECUTE FUNCTION trap.count()",
                         j, times[j], tables[i]);
        witness_tell(
            "sql CREATE CONSTRAINT TRIGGER trap2 AFTER INSERT OR UPDATE OR DELETE "
            "ON holdfast.%s DEFERRABLE INITIALLY DEFERRED "
            "FOR EACH ROW EXECUTE FUNCTION trap.count()",
            tables[i]);
    }
}

static void aim(long step, const char *how)
{
    witness_tell("sql UPDATE trap.target SET at = %ld, how = '%s'; "
                 "SELECT setval('trap.step', 1, false)",
                 step, how);
}

/* `how`: to end the connection, or an SQLSTATE to fail with. */
static void at_every_step(void (*play)(struct stage *stage), const char *how)
{
    static struct stage stage;
    long                step = 0, steps;

    stage_open(&stage, witness_url("ttl=10s"));
    play(&stage);
    do {
        aim(++step, how);
        play(&stage);
        steps = postgres_number("SELECT last_value FROM trap.step");
    } while (steps >= step && step < STEPS);
    aim(0, "");
    print_message("# %ld steps\n", step - 1);
    assert_true(step > 15 && step < STEPS);
    stage_close(&stage);
}

static void at_every_step_alone(void **state)
{
    (void)state;
    at_every_step(alone, "end");
}

static void at_every_step_of_a_hand_over(void **state)
{
    (void)state;
    at_every_step(handed_over, "end");
}

/* A deadlock, and that a transaction came in between: done again, and nobody notices. */
static void undone_at_every_step(void **state)
{
    (void)state;
    at_every_step(alone, "40P01");
    at_every_step(handed_over, "40001");
}

/* As pg_cancel_backend() and statement_timeout do it. */
static void cancelled_at_every_step(void **state)
{
    (void)state;
    at_every_step(alone, "57014");
}

/* All connections, over and over, while the lock goes round. */
static void at_any_time(void **state)
{
    static struct stage stage;

    (void)state;
    stage_open(&stage, witness_url("ttl=10s"));
    for (int i = 0; i < 12; i++) {
        assert_int_equal(hf_acquire_start(stage.a.lock, ACTOR_LIMIT_MS), 0);
        poll(NULL, 0, i);
        witness_tell("terminate");
        actor_await(&stage.a, HF_HELD);
        have_and_leave(&stage);
    }
    stage_close(&stage);
}

/* ---- Cuts ----------------------------------------------------------------------------- */

static struct tcpproxy *proxy;

static const char *url_by_proxy(void)
{
    static char url[256];
    const char *given = getenv("HF_PG_URL"), *at = strchr(given, '@');

    snprintf(url, sizeof url, "%.*s%s%s?ttl=%dms", (int)(at + 1 - given), given,
             tcpproxy_address(proxy), strchr(at, '/'), TTL_MS);
    return url;
}

static void cut(struct stage     *stage, void (*play)(struct stage *stage),
                enum tcpproxy_way way, uint64_t parts)
{
    play(stage);
    uint64_t before = tcpproxy_bytes(proxy, way, TCPPROXY_ALL), struck = 0;
    play(stage);
    uint64_t size = tcpproxy_bytes(proxy, way, TCPPROXY_ALL) - before;

    assert_true(size > parts);
    for (uint64_t i = 0; i < parts; i++) {
        tcpproxy_cut(proxy, way, TCPPROXY_ALL, 1 + i * size / parts);
        play(stage);
        struck += tcpproxy_has_struck(proxy);
        tcpproxy_forget(proxy);
    }
    print_message("# %s: %d bytes, %d of %d cuts\n", way == TCPPROXY_UP ? "up" : "down",
                  (int)size, (int)struck, (int)parts);
    assert_true(struck > parts / 2);
}

static void cut_somewhere(void **state)
{
    static struct stage stage;

    (void)state;
    proxy = tcpproxy_start(strchr(getenv("HF_PG_ADMIN"), '@') + 1, NULL);
    stage_open(&stage, url_by_proxy());
    cut(&stage, alone, TCPPROXY_UP, 12);
    cut(&stage, alone, TCPPROXY_DOWN, 16);
    cut(&stage, handed_over, TCPPROXY_UP, 12);
    cut(&stage, handed_over, TCPPROXY_DOWN, 16);
    stage_close(&stage);
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
        cmocka_unit_test(at_every_step_alone),
        cmocka_unit_test(at_every_step_of_a_hand_over),
        cmocka_unit_test(undone_at_every_step),
        cmocka_unit_test(cancelled_at_every_step),
        cmocka_unit_test(at_any_time),
        cmocka_unit_test(cut_somewhere),
    };

    witness_start();
    return cmocka_run_group_tests(tests, open_and_trap, NULL);
}
