/* s5_fence.c - tokens rise, and never fall back. */
/* one thread */
#include "lib/promise.h"

static uint64_t token_of_a_turn(struct player *player, const char *name)
{
    struct ask ask;

    uint64_t id = enter(player, name, MUTEX, &ask);
    assert_true(is_granted(&ask));
    uint64_t token = token_of(&ask);
    assert_true(token != 0);
    assert_int_equal(leave(player, name, id), 0);
    return token;
}

static void rises_with_seq(void **state)
{
    struct player a, b;
    struct ask    ask, all;

    (void)state;
    player_open(&a);
    player_open(&b);
    for (int i = 0; i < 5; i++) {
        enter(&a, "with_seq", semaphore(3, 1), &ask);
        enter(&b, "with_seq", semaphore(3, 1), &ask);
    }
    assert_int_equal(list(&a, "with_seq", &all), 0);
    assert_int_equal(all.count, 10);
    for (size_t i = 1; i < all.count; i++) {
        assert_true(all.seen[i].seq > all.seen[i - 1].seq);
        assert_true(all.seen[i].token > all.seen[i - 1].token);
    }
    player_close(&a);
    player_close(&b);
}

static void rises_over_empty_lines(void **state)
{
    struct player a, b;
    uint64_t      last = 0;

    (void)state;
    player_open(&a);
    player_open(&b);
    for (int i = 0; i < 200; i++) {
        uint64_t token = token_of_a_turn(i % 2 == 0 ? &a : &b, "empty_lines");
        assert_true(token > last);
        last = token;
    }
    player_close(&a);
    player_close(&b);
}

static void rises_when_nobody_was_there(void **state)
{
    struct player player;
    uint64_t      last = 0;

    (void)state;
    for (int i = 0; i < 20; i++) {
        player_open(&player);
        uint64_t token = token_of_a_turn(&player, "nobody");
        player_close(&player); /* the last one: a store may forget everything */
        assert_true(token > last);
        last = token;
    }
}

/* A writer that becomes a reader keeps its token, and those behind have more. */
static void rises_over_an_amend(void **state)
{
    struct player a, b;
    struct ask    held, amended, behind, later;

    (void)state;
    player_open(&a);
    player_open(&b);
    uint64_t id = enter(&a, "over_amend", WRITER, &held);
    enter(&b, "over_amend", READER, &behind);
    assert_int_equal(amend(&a, "over_amend", id, READER, &amended), 0);
    enter(&b, "over_amend", READER, &later);
    assert_true(token_of(&amended) == token_of(&held));
    assert_true(token_of(&behind) > token_of(&amended));
    assert_true(token_of(&later) > token_of(&behind));
    player_close(&a);
    player_close(&b);
}

static void hold_and_tell(struct child *parent)
{
    struct player player;
    struct ask    ask;

    player_open(&player);
    enter(&player, "death", MUTEX, &ask);
    must(is_granted(&ask));
    child_say(parent);
    child_hear(parent, -1);
}

static void rises_over_deaths(void **state)
{
    struct player a;
    struct child  child;
    struct ask    all;
    uint64_t      last = 0;

    (void)state;
    if (!promise_is_shared())
        skip();
    player_open(&a);
    for (int i = 0; i < 5; i++) {
        child_start(&child, hold_and_tell);
        assert_true(child_hear(&child, 10000));
        assert_int_equal(list(&a, "death", &all), 0);
        assert_true(all.count >= 1);
        uint64_t token = all.seen[all.count - 1].token;
        assert_true(token > last);
        last = token;
        child_kill(&child);
        hf_time end = hf_now() + 10 * HF_SEC;
        while (list(&a, "death", &all) == 0 && all.count > 0 && hf_now() < end)
            player_turn(&a, 1);
        assert_int_equal(all.count, 0);
    }
    assert_true(token_of_a_turn(&a, "death") > last);
    player_close(&a);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rises_with_seq),
        cmocka_unit_test(rises_over_empty_lines),
        cmocka_unit_test(rises_when_nobody_was_there),
        cmocka_unit_test(rises_over_an_amend),
        cmocka_unit_test(rises_over_deaths),
    };

    promise_start(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
