/* misleading_events.c - an event that another waiter of the session consumed, and a
 * delete that is really a downgrade. */
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
    while (asked_of(&first) == NULL) {
        watch(&b, "joined", &first, &watching[0]);
        assert_true(player_await(&b, &watching[0], LIMIT_MS));
        assert_int_equal(look(&b, "joined", mine, &first), 0);
    }
    assert_string_equal(asked_of(&first), "please");
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
        cmocka_unit_test(downgraded_kazoo_writer_still_blocks_a_mutex),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
