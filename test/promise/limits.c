/* limits.c - limits of a queue, and the number of places ahead. */
/* one thread */
#include "lib/four_players.h"

#include "holdfast.h"

#include <string.h>

/* ENTER unless `limit` wait already: the status. */
static int enter_behind(struct player *player, const char *name, struct hf_shape shape,
                        uint32_t limit, struct request *ret)
{
    *ret = (struct request){ .req = { .op = HF_ENTER,
                                      .name = name,
                                      .id = ++player->ids,
                                      .shape = shape,
                                      .note = "",
                                      .limit = limit } };
    return player_run(player, ret);
}

/* ---- Limits ------------------------------------------------------------------------ */

static void no_more_wait_than_the_limit(void **state)
{
    struct request request;

    (void)state;
    assert_int_equal(enter_behind(&a, "so_many", MUTEX, 1, &request), 0);
    assert_true(is_granted(&request)); /* a holder does not wait */
    assert_int_equal(enter_behind(&b, "so_many", MUTEX, 1, &request), 0);
    assert_false(is_granted(&request));
    assert_int_equal(enter_behind(&c, "so_many", MUTEX, 1, &request), HF_EFULL);
    assert_non_null(
        strstr(c.store->errmsg, "so_many")); /* and does not mean a full disk */
    assert_int_equal(leave(&c, "so_many", request.req.id),
                     0); /* as the library does after a refusal */
    assert_int_equal(length(&d, "so_many"), 2);
    assert_int_equal(enter_behind(&c, "so_many", MUTEX, 2, &request), 0);
    assert_int_equal(enter_behind(&d, "so_many", MUTEX, 2, &request), HF_EFULL);
    assert_int_equal(length(&d, "so_many"), 3);
    enter(&d, "so_many", MUTEX, &request); /* it sets no limit */
    assert_int_equal(length(&d, "so_many"), 4);
}

static void a_waiter_that_leaves_makes_room(void **state)
{
    struct request held, waits, request;

    (void)state;
    uint64_t first = enter(&a, "one_less", MUTEX, &held);
    uint64_t second = enter(&b, "one_less", MUTEX, &waits);
    assert_int_equal(enter_behind(&c, "one_less", MUTEX, 1, &request), HF_EFULL);
    assert_int_equal(leave(&b, "one_less", second), 0);
    assert_int_equal(enter_behind(&c, "one_less", MUTEX, 1, &request), 0);
    assert_int_equal(enter_behind(&d, "one_less", MUTEX, 1, &request), HF_EFULL);
    assert_int_equal(leave(&a, "one_less", first), 0); /* c holds, nobody waits */
    assert_int_equal(enter_behind(&d, "one_less", MUTEX, 1, &request), 0);
    assert_false(is_granted(&request));
}

static void holders_do_not_count(void **state)
{
    struct request request;

    (void)state;
    for (int i = 0; i < 3; i++)
        assert_int_equal(enter_behind(&a, "holders", semaphore(3, 1), 1, &request), 0);
    assert_true(is_granted(&request));
    assert_int_equal(enter_behind(&b, "holders", semaphore(3, 1), 1, &request), 0);
    assert_int_equal(enter_behind(&c, "holders", semaphore(3, 1), 1, &request), HF_EFULL);
}

/* Although it is behind others. */
static void a_place_granted_at_once_ignores_the_limit(void **state)
{
    struct request request;

    (void)state;
    enter(&a, "at_once", READER, &request);
    assert_int_equal(enter_behind(&b, "at_once", READER, 1, &request), 0);
    assert_true(is_granted(&request));
    enter(&c, "at_once", WRITER, &request);
    assert_int_equal(enter_behind(&d, "at_once", READER, 1, &request), HF_EFULL);
}

static void a_repeated_enter_keeps_its_place(void **state)
{
    struct request held, waits, other;

    (void)state;
    enter(&a, "its_place", MUTEX, &held);
    assert_int_equal(enter_behind(&b, "its_place", MUTEX, 1, &waits), 0);
    struct request repeat = { .req = waits.req };
    assert_int_equal(player_run(&b, &repeat), 0);
    assert_true(token_of(&repeat) == token_of(&waits));

    /* A refused ENTER may succeed later, with the same id. */
    assert_int_equal(enter_behind(&c, "its_place", MUTEX, 1, &other), HF_EFULL);
    assert_int_equal(leave(&b, "its_place", waits.req.id), 0);
    repeat = (struct request){ .req = other.req };
    assert_int_equal(player_run(&c, &repeat), 0);
    assert_true(has_place(&repeat));
    assert_int_equal(length(&d, "its_place"), 2);
}

static void a_refused_try_is_busy_not_full(void **state)
{
    struct request request;

    (void)state;
    enter(&a, "a_try", MUTEX, &request);
    enter(&b, "a_try", MUTEX, &request);
    request = (struct request){ .req = { .op = HF_ENTER,
                                         .name = "a_try",
                                         .id = ++c.ids,
                                         .shape = MUTEX,
                                         .only_free = true,
                                         .note = "",
                                         .limit = 1 } };
    player_run(&c, &request);
    assert_true(is_refused(&request));
}

static void queue_up(struct child *parent)
{
    struct player  player;
    struct request request;

    player_open(&player);
    enter(&player, "the_dead", MUTEX, &request);
    child_say(parent);
    child_hear(parent, -1);
}

static void dead_waiters_do_not_count(void **state)
{
    struct child   child;
    struct request request;

    (void)state;
    if (!promise_is_shared())
        skip();
    enter(&a, "the_dead", MUTEX, &request);
    child_start(&child, queue_up);
    assert_true(child_hear(&child, 10000));
    assert_int_equal(enter_behind(&b, "the_dead", MUTEX, 1, &request), HF_EFULL);
    child_kill(&child);
    hf_time end = hf_now() + 10 * HF_SEC; /* a lease has to expire first */
    int     r = HF_EFULL;
    while (r == HF_EFULL && hf_now() < end) {
        r = enter_behind(&b, "the_dead", MUTEX, 1, &request);
        player_turn(&a, 1);
        player_turn(&b, 1);
    }
    assert_int_equal(r, 0);
}

/* ---- Places ahead ------------------------------------------------------------------ */

/* Whether or not they block it. */
static void all_places_ahead_are_counted(void **state)
{
    struct request request;
    uint64_t       id[6];

    (void)state;
    for (uint64_t i = 0; i < 6; i++) {
        id[i] = enter(i % 2 == 0 ? &a : &b, "counted", semaphore(2, 1), &request);
        assert_true(ahead_of(&request) == (i < 2 ? 0 : i)); /* two hold it */
    }
    assert_int_equal(leave(&b, "counted", id[1]), 0);
    assert_int_equal(leave(&a, "counted", id[2]), 0);
    assert_int_equal(look(&b, "counted", id[5], &request), 0);
    assert_int_equal(ahead_of(&request), 3);
    assert_int_equal(look(&a, "counted", id[0], &request), 0);
    assert_int_equal(ahead_of(&request), 0);
    struct request repeat = { .req = { .op = HF_ENTER,
                                       .name = "counted",
                                       .id = id[4],
                                       .shape = semaphore(2, 1) } };
    assert_int_equal(player_run(&a, &repeat), 0);
    assert_int_equal(ahead_of(&repeat), 2);
}

static void an_answer_to_downgrade_counts_them_too(void **state)
{
    struct request request;

    (void)state;
    enter(&a, "amended", semaphore(9, 4), &request);
    enter(&b, "amended", semaphore(9, 4), &request);
    uint64_t id = enter(&c, "amended", semaphore(9, 4), &request);
    assert_int_equal(downgrade(&c, "amended", id, semaphore(9, 2), &request), 0);
    assert_int_equal(ahead_of(&request), 2);
    assert_int_equal(downgrade(&c, "amended", id, semaphore(9, 1), &request), 0);
    assert_true(is_granted(&request));
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_all, close_all)
    const struct CMUnitTest tests[] = {
        TEST(no_more_wait_than_the_limit),
        TEST(a_waiter_that_leaves_makes_room),
        TEST(holders_do_not_count),
        TEST(a_place_granted_at_once_ignores_the_limit),
        TEST(a_repeated_enter_keeps_its_place),
        TEST(a_refused_try_is_busy_not_full),
        TEST(dead_waiters_do_not_count),
        TEST(all_places_ahead_are_counted),
        TEST(an_answer_to_downgrade_counts_them_too),
    };
#undef TEST

    promise_start(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
