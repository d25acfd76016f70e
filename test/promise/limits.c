/* limits.c - a queue that is full, and how many places are ahead. */
/* one thread */
#include "lib/cast.h"

#include "holdfast.h"

#include <string.h>

/* ENTER unless `limit` wait already: the status. */
static int enter_behind(struct player *player, const char *name, struct hf_shape shape,
                        uint32_t limit, struct ask *ret)
{
    *ret = (struct ask){ .req = { .op = HF_ENTER,
                                  .name = name,
                                  .id = ++player->ids,
                                  .shape = shape,
                                  .note = "",
                                  .limit = limit } };
    return player_run(player, ret);
}

/* ---- Limits ------------------------------------------------------------------------ */

static void no_more_than_so_many_wait(void **state)
{
    struct ask ask;

    (void)state;
    assert_int_equal(enter_behind(&a, "so_many", MUTEX, 1, &ask), 0);
    assert_true(is_granted(&ask)); /* who holds does not wait */
    assert_int_equal(enter_behind(&b, "so_many", MUTEX, 1, &ask), 0);
    assert_false(is_granted(&ask));
    assert_int_equal(enter_behind(&c, "so_many", MUTEX, 1, &ask), HF_EFULL);
    assert_non_null(strstr(c.store->errmsg, "so_many"));   /* not a full disk */
    assert_int_equal(leave(&c, "so_many", ask.req.id), 0); /* as a client does */
    assert_int_equal(length(&d, "so_many"), 2);
    assert_int_equal(enter_behind(&c, "so_many", MUTEX, 2, &ask), 0);
    assert_int_equal(enter_behind(&d, "so_many", MUTEX, 2, &ask), HF_EFULL);
    assert_int_equal(length(&d, "so_many"), 3);
    enter(&d, "so_many", MUTEX, &ask); /* no limit of its own */
    assert_int_equal(length(&d, "so_many"), 4);
}

static void there_is_room_when_one_gives_up(void **state)
{
    struct ask held, waits, ask;

    (void)state;
    uint64_t first = enter(&a, "one_less", MUTEX, &held);
    uint64_t second = enter(&b, "one_less", MUTEX, &waits);
    assert_int_equal(enter_behind(&c, "one_less", MUTEX, 1, &ask), HF_EFULL);
    assert_int_equal(leave(&b, "one_less", second), 0);
    assert_int_equal(enter_behind(&c, "one_less", MUTEX, 1, &ask), 0);
    assert_int_equal(enter_behind(&d, "one_less", MUTEX, 1, &ask), HF_EFULL);
    assert_int_equal(leave(&a, "one_less", first), 0); /* c holds, nobody waits */
    assert_int_equal(enter_behind(&d, "one_less", MUTEX, 1, &ask), 0);
    assert_false(is_granted(&ask));
}

static void holders_do_not_count(void **state)
{
    struct ask ask;

    (void)state;
    for (int i = 0; i < 3; i++)
        assert_int_equal(enter_behind(&a, "holders", semaphore(3, 1), 1, &ask), 0);
    assert_true(is_granted(&ask));
    assert_int_equal(enter_behind(&b, "holders", semaphore(3, 1), 1, &ask), 0);
    assert_int_equal(enter_behind(&c, "holders", semaphore(3, 1), 1, &ask), HF_EFULL);
}

/* Granted, though it stands behind others. */
static void who_is_granted_at_once_is_let_in(void **state)
{
    struct ask ask;

    (void)state;
    enter(&a, "at_once", READER, &ask);
    assert_int_equal(enter_behind(&b, "at_once", READER, 1, &ask), 0);
    assert_true(is_granted(&ask));
    enter(&c, "at_once", WRITER, &ask);
    assert_int_equal(enter_behind(&d, "at_once", READER, 1, &ask), HF_EFULL);
}

static void a_repeat_has_its_place(void **state)
{
    struct ask held, waits, other;

    (void)state;
    enter(&a, "its_place", MUTEX, &held);
    assert_int_equal(enter_behind(&b, "its_place", MUTEX, 1, &waits), 0);
    struct ask repeat = { .req = waits.req };
    assert_int_equal(player_run(&b, &repeat), 0);
    assert_true(token_of(&repeat) == token_of(&waits));

    /* One that was refused may be let in later, by the same id. */
    assert_int_equal(enter_behind(&c, "its_place", MUTEX, 1, &other), HF_EFULL);
    assert_int_equal(leave(&b, "its_place", waits.req.id), 0);
    repeat = (struct ask){ .req = other.req };
    assert_int_equal(player_run(&c, &repeat), 0);
    assert_true(has_place(&repeat));
    assert_int_equal(length(&d, "its_place"), 2);
}

/* A try never queues: it is refused because the lock is held, not for the queue. */
static void a_try_is_busy_and_not_full(void **state)
{
    struct ask ask;

    (void)state;
    enter(&a, "a_try", MUTEX, &ask);
    enter(&b, "a_try", MUTEX, &ask);
    ask = (struct ask){ .req = { .op = HF_ENTER,
                                 .name = "a_try",
                                 .id = ++c.ids,
                                 .shape = MUTEX,
                                 .only_free = true,
                                 .note = "",
                                 .limit = 1 } };
    player_run(&c, &ask);
    assert_true(is_refused(&ask));
}

static void queue_up(struct child *parent)
{
    struct player player;
    struct ask    ask;

    player_open(&player);
    enter(&player, "the_dead", MUTEX, &ask);
    child_say(parent);
    child_hear(parent, -1);
}

static void the_dead_do_not_count(void **state)
{
    struct child child;
    struct ask   ask;

    (void)state;
    if (!promise_is_shared())
        skip();
    enter(&a, "the_dead", MUTEX, &ask);
    child_start(&child, queue_up);
    assert_true(child_hear(&child, 10000));
    assert_int_equal(enter_behind(&b, "the_dead", MUTEX, 1, &ask), HF_EFULL);
    child_kill(&child);
    hf_time end = hf_now() + 10 * HF_SEC; /* a lease has to run out first */
    int     r = HF_EFULL;
    while (r == HF_EFULL && hf_now() < end) {
        r = enter_behind(&b, "the_dead", MUTEX, 1, &ask);
        player_turn(&a, 1);
        player_turn(&b, 1);
    }
    assert_int_equal(r, 0);
}

/* ---- Places ahead ------------------------------------------------------------------ */

/* All of them, whether or not they matter for its turn. */
static void everybody_ahead_is_counted(void **state)
{
    struct ask ask;
    uint64_t   id[6];

    (void)state;
    for (uint64_t i = 0; i < 6; i++) {
        id[i] = enter(i % 2 == 0 ? &a : &b, "counted", semaphore(2, 1), &ask);
        assert_true(ahead_of(&ask) == (i < 2 ? 0 : i)); /* two hold it */
    }
    assert_int_equal(leave(&b, "counted", id[1]), 0);
    assert_int_equal(leave(&a, "counted", id[2]), 0);
    assert_int_equal(look(&b, "counted", id[5], &ask), 0);
    assert_int_equal(ahead_of(&ask), 3);
    assert_int_equal(look(&a, "counted", id[0], &ask), 0);
    assert_int_equal(ahead_of(&ask), 0);
    struct ask repeat = { .req = { .op = HF_ENTER,
                                   .name = "counted",
                                   .id = id[4],
                                   .shape = semaphore(2, 1) } };
    assert_int_equal(player_run(&a, &repeat), 0);
    assert_int_equal(ahead_of(&repeat), 2);
}

static void amend_counts_too(void **state)
{
    struct ask ask;

    (void)state;
    enter(&a, "amended", semaphore(9, 4), &ask);
    enter(&b, "amended", semaphore(9, 4), &ask);
    uint64_t id = enter(&c, "amended", semaphore(9, 4), &ask);
    assert_int_equal(amend(&c, "amended", id, semaphore(9, 2), &ask), 0);
    assert_int_equal(ahead_of(&ask), 2);
    assert_int_equal(amend(&c, "amended", id, semaphore(9, 1), &ask), 0);
    assert_true(is_granted(&ask));
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_all, close_all)
    const struct CMUnitTest tests[] = {
        TEST(no_more_than_so_many_wait), TEST(there_is_room_when_one_gives_up),
        TEST(holders_do_not_count),      TEST(who_is_granted_at_once_is_let_in),
        TEST(a_repeat_has_its_place),    TEST(a_try_is_busy_and_not_full),
        TEST(the_dead_do_not_count),     TEST(everybody_ahead_is_counted),
        TEST(amend_counts_too),
    };
#undef TEST

    promise_start(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
