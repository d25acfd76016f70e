/* doubt.c - events that are not what they seem, or that somebody else of the session hears. */
/* needs: standalone --tick 200 --config maxSessionTimeout=60000 */
#include "lib/promise.h"
#include "lib/witness.h"

#include <stdio.h>

#define LIMIT_MS 30000
#define TURNS    3 /* so often the server has answered all that was asked before */

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
    struct ask nothing;

    for (int i = 0; i < TURNS; i++)
        assert_int_equal(list(player, "nothing", &nothing), 0);
}

/* Somebody else of the session listens to our node already when we begin to, and has heard
 * that we are asked. */
static void asked_before_we_listened(void **state)
{
    struct player a, b;
    struct ask    held, first, second, watching[2];

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

/* kazoo's names do not tell writers from mutexes.  One that becomes a reader is not gone. */
static void a_writer_in_the_guise_of_a_mutex(void **state)
{
    struct player a, b;
    struct ask    held, view, watching;

    (void)state;
    open_as(&a, "&style=kazoo");
    open_as(&b, "");
    uint64_t id = enter(&a, "guise", WRITER, &held);
    uint64_t mine = enter(&b, "guise", MUTEX, &view);
    watch(&b, "guise", &view, &watching);
    settle(&b);
    assert_int_equal(amend(&a, "guise", id, READER, &held), 0);
    settle(&b);
    if (look(&b, "guise", mine, &view) == 0)
        assert_false(is_granted(&view));
    player_close(&b);
    player_close(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(asked_before_we_listened),
        cmocka_unit_test(a_writer_in_the_guise_of_a_mutex),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
