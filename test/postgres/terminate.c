/* terminate.c - the server ends our connection at every step of an acquire and a release,
 * alone and with a hand-over, or fails as it does in a deadlock; and the connection is cut
 * in the middle of questions and answers.
 *
 * What must be true whatever is done and undone: see lib/scene.h.  A step is a row that is about to be changed or was
 * just changed, or a commit that is about to be made.
 */
/* needs: standalone */
#include "lib/promise.h"
#include "lib/scene.h"
#include "lib/tcpproxy.h"
#include "lib/witness_postgres.h"

#include <poll.h>

#define TTL_MS 10000 /* so long that no fault ends a session, and few renewals disturb */
#define STEPS  200   /* more than there are */

static void open_scene(struct scene *scene, const char *url)
{
    *scene = (struct scene){ .name = "scene", .limit_ms = ACTOR_LIMIT_MS };
    actor_open_url(&scene->a, url, scene->name);
    actor_open(&scene->b, TTL_MS, scene->name);
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
static void at_every_step(scene_play *play, const char *how)
{
    static struct scene scene;
    long                step = 0, steps;

    open_scene(&scene, witness_url("ttl=10s"));
    play(&scene);
    do {
        aim(++step, how);
        play(&scene);
        steps = postgres_number("SELECT last_value FROM trap.step");
    } while (steps >= step && step < STEPS);
    aim(0, "");
    print_message("# %ld steps\n", step - 1);
    assert_true(step > 15 && step < STEPS);
    scene_close(&scene);
}

static void at_every_step_alone(void **state)
{
    (void)state;
    at_every_step(scene_alone, "end");
}

static void at_every_step_of_a_hand_over(void **state)
{
    (void)state;
    at_every_step(scene_handed_over, "end");
}

/* A deadlock, and that a transaction came in between: done again, and nobody notices. */
static void undone_at_every_step(void **state)
{
    (void)state;
    at_every_step(scene_alone, "40P01");
    at_every_step(scene_handed_over, "40001");
}

/* As pg_cancel_backend() and statement_timeout do it. */
static void cancelled_at_every_step(void **state)
{
    (void)state;
    at_every_step(scene_alone, "57014");
}

/* All connections, over and over, while the lock goes round. */
static void at_any_time(void **state)
{
    static struct scene scene;

    (void)state;
    open_scene(&scene, witness_url("ttl=10s"));
    for (int i = 0; i < 12; i++) {
        assert_int_equal(hf_acquire_start(scene.a.lock, ACTOR_LIMIT_MS), 0);
        poll(NULL, 0, i);
        witness_tell("terminate");
        actor_await(&scene.a, HF_HELD);
        scene_have_and_leave(&scene);
    }
    scene_close(&scene);
}

/* ---- Cuts ----------------------------------------------------------------------------- */

static struct tcpproxy *proxy;

static void cut(struct scene *scene, scene_play *play, enum tcpproxy_way way,
                uint64_t parts)
{
    play(scene);
    uint64_t before = tcpproxy_bytes(proxy, way, TCPPROXY_ALL), struck = 0;
    play(scene);
    uint64_t size = tcpproxy_bytes(proxy, way, TCPPROXY_ALL) - before;

    assert_true(size > parts);
    for (uint64_t i = 0; i < parts; i++) {
        tcpproxy_cut(proxy, way, TCPPROXY_ALL, 1 + i * size / parts);
        play(scene);
        struck += tcpproxy_has_struck(proxy);
        tcpproxy_forget(proxy);
    }
    print_message("# %s: %d bytes, %d of %d cuts\n", way == TCPPROXY_UP ? "up" : "down",
                  (int)size, (int)struck, (int)parts);
    assert_true(struck > parts / 2);
}

static void cut_somewhere(void **state)
{
    static struct scene scene;

    (void)state;
    proxy = tcpproxy_start(witness_server(), NULL);
    open_scene(&scene, witness_url_at(tcpproxy_address(proxy), "ttl=10s"));
    cut(&scene, scene_alone, TCPPROXY_UP, 12);
    cut(&scene, scene_alone, TCPPROXY_DOWN, 16);
    cut(&scene, scene_handed_over, TCPPROXY_UP, 12);
    cut(&scene, scene_handed_over, TCPPROXY_DOWN, 16);
    scene_close(&scene);
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
