/* misleading_events.c - an event that another waiter of the session consumed, one that the
 * server does not send, and a delete that is really a downgrade. */
/* needs: standalone --tick 200 --config maxSessionTimeout=60000 */
#include "lib/promise.h"
#include "lib/witness.h"

#include <stdio.h>

#define LIMIT_MS 30000
#define ROUNDS   3 /* after so many, the server has answered everything sent before */

static void open_as(struct player *player, const char *style)
{
    static char url[2][96];
    static int  next;

    next = !next;
    snprintf(url[next], sizeof url[next], "zk://%s?session=60s%s", witness_server(),
             style);
    promise_use(url[next]);
    player_open_for(player, 60000);
}

static void settle(struct player *player)
{
    struct request nothing;

    for (int i = 0; i < ROUNDS; i++)
        assert_int_equal(list(player, "nothing", &nothing), 0);
}

/* Wait until the holder hears of an ASK. */
static void await_ask(struct player *player, const char *name, uint64_t id,
                      struct request *held)
{
    struct request watching;

    while (asked_of(held) == NULL) {
        watch(player, name, held, &watching);
        assert_true(player_await(player, &watching, LIMIT_MS));
        assert_int_equal(look(player, name, id, held), 0);
    }
    assert_string_equal(asked_of(held), "please");
}

/* Another waiter of the session listens to our node before we do, and has already heard
 * of the ASK. */
static void ask_that_another_waiter_heard_is_not_missed(void **state)
{
    struct player  a, b;
    struct request held, first, second, watching[2];

    (void)state;
    open_as(&a, "");
    open_as(&b, "");
    uint64_t id = enter(&a, "joined", WRITER, &held);
    uint64_t mine = enter(&b, "joined", WRITER, &first);
    enter(&b, "joined", READER, &second);
    watch(&b, "joined", &second, &watching[1]);
    settle(&b);
    assert_int_equal(ask_for(&a, "joined", place_of(&first), "please"), 0);
    settle(&b);
    watch(&b, "joined", &first, &watching[0]);
    settle(&b);
    assert_int_equal(leave(&a, "joined", id), 0);
    assert_true(player_await(&b, &watching[0], LIMIT_MS));
    assert_int_equal(look(&b, "joined", mine, &first), 0);
    assert_true(is_granted(&first));
    await_ask(&b, "joined", mine, &first);
    player_close(&a);
    player_close(&b);
}

/* One SET_WATCHES sets the watches of both of our nodes, as of the creation of the second.
 * The first was changed before that, so the server sends no event: it must be read.  (A place
 * that has waited for over a second is read anyway, so this has to be quick once.) */
static void ask_before_the_watch_was_set_is_not_missed(void **state)
{
    static const char *const early[] = { "early-0", "early-1", "early-2" };
    struct player            a, b;
    struct request           held[2], mine[2], watching[2];

    (void)state;
    open_as(&a, "");
    open_as(&b, "");
    enter(&a, "late", MUTEX, &held[1]);
    for (int i = 0; i < 3; i++) {
        uint64_t id = enter(&a, early[i], MUTEX, &held[0]);
        uint64_t first = enter(&b, early[i], MUTEX, &mine[0]);
        assert_int_equal(ask_for(&a, early[i], place_of(&mine[0]), "please"), 0);
        uint64_t second = enter(&b, "late", MUTEX, &mine[1]);
        to_watch(&watching[0], early[i], &mine[0]);
        to_watch(&watching[1], "late", &mine[1]);
        player_submit(&b, &watching[0]);
        player_submit(&b, &watching[1]);
        settle(&b);
        assert_int_equal(leave(&a, early[i], id), 0);
        assert_true(player_await(&b, &watching[0], LIMIT_MS));
        assert_int_equal(look(&b, early[i], first, &mine[0]), 0);
        assert_true(is_granted(&mine[0]));
        await_ask(&b, early[i], first, &mine[0]);
        end_watch(&b, &watching[1]);
        assert_int_equal(leave(&b, "late", second), 0);
    }
    player_close(&a);
    player_close(&b);
}

/* kazoo's names do not distinguish writers from mutexes.  A writer that becomes a reader
 * is not gone. */
static void downgraded_kazoo_writer_still_blocks_a_mutex(void **state)
{
    struct player  a, b;
    struct request held, view, watching;

    (void)state;
    open_as(&a, "&style=kazoo");
    open_as(&b, "");
    uint64_t id = enter(&a, "guise", WRITER, &held);
    uint64_t mine = enter(&b, "guise", MUTEX, &view);
    watch(&b, "guise", &view, &watching);
    settle(&b);
    assert_int_equal(downgrade(&a, "guise", id, READER, &held), 0);
    settle(&b);
    if (look(&b, "guise", mine, &view) == 0)
        assert_false(is_granted(&view));
    player_close(&b);
    player_close(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ask_that_another_waiter_heard_is_not_missed),
        cmocka_unit_test(ask_before_the_watch_was_set_is_not_missed),
        cmocka_unit_test(downgraded_kazoo_writer_still_blocks_a_mutex),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
