/* flight_close.c - a store is closed while requests are under way: no session stays behind.
 *
 * The goodbye goes behind all that was sent, which may take long.
 */
/* needs: standalone */
#include "lib/promise.h"
#include "lib/witness_postgres.h"

#include <stdio.h>

#define ASKS  10
#define TURNS 12

static struct player player;
static struct ask    asked[ASKS];
static char          name[ASKS][16];

/* All is prepared, so that many may be under way. */
static void open_warm(void)
{
    struct ask first;

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
        asked[i] = (struct ask){ .req = { .op = HF_ENTER,
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

/* Does a session stay behind, where each that enters takes its time? */
static bool leaves_a_session(void)
{
    open_warm();
    witness_tell("sql INSERT INTO trap.sleep VALUES (0.03)");
    send_all();
    player_close(&player);
    bool left = sessions() > 0;
    witness_tell("sql DELETE FROM trap.sleep");
    witness_tell("sql DELETE FROM holdfast.session");
    return left;
}

/* Each is answered soon, all of them together are not.  (On a busy machine one of them may take
 * too long: then once more.) */
static void what_is_answered_is_waited_for(void **state)
{
    int turn = 1;

    (void)state;
    witness_tell("sql CREATE SCHEMA trap; CREATE TABLE trap.sleep (seconds real)");
    witness_tell(
        "sql CREATE FUNCTION trap.strike() RETURNS trigger LANGUAGE plpgsql "
        "SECURITY DEFINER AS $$ BEGIN PERFORM pg_sleep(seconds) FROM trap.sleep; "
        "RETURN NEW; END $$");
    witness_tell("sql CREATE TRIGGER strike AFTER INSERT ON holdfast.ticket FOR EACH ROW "
                 "EXECUTE FUNCTION trap.strike()");
    while (leaves_a_session() && turn < TURNS)
        turn++;
    print_message("# at turn %d\n", turn);
    assert_true(turn < TURNS);
    witness_tell("sql DROP SCHEMA trap CASCADE");
}

static int open_first(void **state)
{
    (void)state;
    promise_use(witness_url(""));
    open_warm(); /* makes the schema */
    player_close(&player);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_answered_is_waited_for),
    };

    witness_start();
    return cmocka_run_group_tests(tests, open_first, NULL);
}
