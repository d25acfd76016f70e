/* s5_fence.c - tokens always rise. */
/* one thread */
#include "lib/promise.h"

static uint64_t token_of_a_turn(struct player *player, const char *name)
{
    struct request request;

    uint64_t id = enter(player, name, MUTEX, &request);
    assert_true(is_granted(&request));
    uint64_t token = token_of(&request);
    assert_true(token != 0);
    assert_int_equal(leave(player, name, id), 0);
    return token;
}

static void tokens_rise_with_seq(void **state)
{
    struct player  a, b;
    struct request request, all;

    (void)state;
    player_open(&a);
    player_open(&b);
    for (int i = 0; i < 5; i++) {
        enter(&a, "with_seq", semaphore(3, 1), &request);
        enter(&b, "with_seq", semaphore(3, 1), &request);
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

static void tokens_rise_after_the_queue_was_empty(void **state)
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

static void tokens_rise_after_all_sessions_closed(void **state)
{
    struct player player;
    uint64_t      last = 0;

    (void)state;
    for (int i = 0; i < 20; i++) {
        player_open(&player);
        uint64_t token = token_of_a_turn(&player, "nobody");
        player_close(&player); /* the last session: a store might forget everything */
        assert_true(token > last);
        last = token;
    }
}

/* And places behind it have higher ones. */
static void a_downgrade_keeps_the_token(void **state)
{
    struct player  a, b;
    struct request held, amended, behind, later;

    (void)state;
    player_open(&a);
    player_open(&b);
    uint64_t id = enter(&a, "over_downgrade", WRITER, &held);
    enter(&b, "over_downgrade", READER, &behind);
    assert_int_equal(downgrade(&a, "over_downgrade", id, READER, &amended), 0);
    enter(&b, "over_downgrade", READER, &later);
    assert_true(token_of(&amended) == token_of(&held));
    assert_true(token_of(&behind) > token_of(&amended));
    assert_true(token_of(&later) > token_of(&behind));
    player_close(&a);
    player_close(&b);
}

static void hold_and_tell(struct child *parent)
{
    struct player  player;
    struct request request;

    player_open(&player);
    enter(&player, "death", MUTEX, &request);
    must(is_granted(&request));
    child_say(parent);
    child_hear(parent, -1);
}

static void tokens_rise_after_holders_died(void **state)
{
    struct player  a;
    struct child   child;
    struct request all;
    uint64_t       last = 0;

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
        cmocka_unit_test(tokens_rise_with_seq),
        cmocka_unit_test(tokens_rise_after_the_queue_was_empty),
        cmocka_unit_test(tokens_rise_after_all_sessions_closed),
        cmocka_unit_test(a_downgrade_keeps_the_token),
        cmocka_unit_test(tokens_rise_after_holders_died),
    };

    promise_start(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
