/* pipeline_close.c - a store is closed while requests are in flight: no session stays
 * behind.
 *
 * Bye is sent behind all of them, which may take long.
 */
/* needs: standalone */
#include "lib/promise.h"
#include "lib/server_postgres.h"

#include <stdio.h>

#define ASKS  10
#define TURNS 12

static struct player  player;
static struct request asked[ASKS];
static char           name[ASKS][16];

/* All statements are prepared, so that many calls may be in flight. */
static void open_warm(void)
{
    struct request first;

    player_open_for(&player, 30000);
    for (int i = 0; i < ASKS; i++) {
        enter(&player, "first", MUTEX, &first);
        leave(&player, "first", first.req.id);
    }
}

static void send_all(void)
{
    for (int i = 0; i < ASKS; i++) {
        snprintf(name[i], sizeof name[i], "close-%d", i);
        asked[i] = (struct request){ .req = { .op = HF_ENTER,
                                              .name = name[i],
                                              .id = ++player.ids,
                                              .shape = MUTEX,
                                              .note = "" } };
        player_submit(&player, &asked[i]);
    }
    player_turn(&player, 0);
}

static long sessions(void)
{
    return postgres_number("SELECT count(*) FROM holdfast.session");
}

/* Does a session stay behind if each ENTER is slow? */
static bool leaves_a_session(void)
{
    open_warm();
    server_tell("sql INSERT INTO trap.sleep VALUES (0.03)");
    send_all();
    player_close(&player);
    bool left = sessions() > 0;
    server_tell("sql DELETE FROM trap.sleep");
    server_tell("sql DELETE FROM holdfast.session");
    return left;
}

/* Each answer comes soon, but all of them take long.  (On a busy machine one may take
 * too long: then try again.) */
static void close_waits_while_answers_come(void **state)
{
    int turn = 1;

    (void)state;
    server_tell("sql CREATE SCHEMA trap; CREATE TABLE trap.sleep (seconds real)");
    server_tell("sql CREATE FUNCTION trap.strike() RETURNS trigger LANGUAGE plpgsql "
                "SECURITY DEFINER AS $$ BEGIN PERFORM pg_sleep(seconds) FROM trap.sleep; "
                "RETURN NEW; END $$");
    server_tell("sql CREATE TRIGGER strike AFTER UPDATE ON holdfast.line FOR EACH ROW "
                "WHEN (NEW.last > OLD.last) EXECUTE FUNCTION trap.strike()");
    while (leaves_a_session() && turn < TURNS)
        turn++;
    print_message("# at turn %d\n", turn);
    assert_true(turn < TURNS);
    server_tell("sql DROP SCHEMA trap CASCADE");
}

static int open_first(void **state)
{
    (void)state;
    promise_use(server_url(""));
    open_warm(); /* makes the schema */
    player_close(&player);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(close_waits_while_answers_come),
    };

    server_find();
    return cmocka_run_group_tests(tests, open_first, NULL);
}
