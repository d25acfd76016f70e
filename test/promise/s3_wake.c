/* s3_wake.c - a watch may fire too often, never too late.
 *
 * If one fires although nothing is different, the test watches again, as a hold does.
 */
/* one thread */
#include "lib/four_players.h"

#include "holdfast.h"

#define LIMIT 10000 /* ms; a slow store is not wrong */
#define QUIET 30

static void a_waiter_wakes_when_the_holder_leaves(void **state)
{
    struct request held, waits, watching;

    (void)state;
    uint64_t id = enter(&a, "leaves", MUTEX, &held);
    enter(&b, "leaves", MUTEX, &waits);
    watch(&b, "leaves", &waits, &watching);
    assert_false(player_await(&b, &watching, QUIET));
    assert_int_equal(leave(&a, "leaves", id), 0);
    assert_true(await_grant(&b, "leaves", &waits, &watching));
}

static void a_waiter_wakes_within_one_session(void **state)
{
    struct request held, waits, watching;

    (void)state;
    uint64_t id = enter(&a, "one_session", MUTEX, &held);
    enter(&a, "one_session", MUTEX, &waits);
    watch(&a, "one_session", &waits, &watching);
    assert_int_equal(leave(&a, "one_session", id), 0);
    assert_true(await_grant(&a, "one_session", &waits, &watching));
}

static void a_waiter_wakes_when_the_session_of_the_holder_closes(void **state)
{
    struct request held, waits, watching;

    (void)state;
    enter(&a, "closes", MUTEX, &held);
    enter(&b, "closes", MUTEX, &waits);
    watch(&b, "closes", &waits, &watching);
    player_close(&a);
    assert_true(await_grant(&b, "closes", &waits, &watching));
}

static void a_leave_before_the_watch_counts(void **state)
{
    struct request held, waits, watching;

    (void)state;
    uint64_t id = enter(&a, "before", MUTEX, &held);
    enter(&b, "before", MUTEX, &waits);
    assert_int_equal(leave(&a, "before", id), 0);
    watch(&b, "before", &waits, &watching);
    assert_true(await_grant(&b, "before", &waits, &watching));
}

static void a_waiter_and_the_holder_wake_when_the_holder_is_broken(void **state)
{
    struct request held, own, waits, watching;

    (void)state;
    enter(&a, "broken", MUTEX, &held);
    watch(&a, "broken", &held, &own);
    assert_false(player_await(&a, &own, QUIET));
    enter(&b, "broken", MUTEX, &waits);
    watch(&b, "broken", &waits, &watching);
    assert_int_equal(take_away(&c, "broken", place_of(&held)), 0);
    assert_true(await_grant(&b, "broken", &waits, &watching));

    assert_true(await_news(&a, "broken", &held, &own)); /* so does the holder */
    assert_false(has_place(&held));
    uint64_t id = held.req.id;
    assert_int_equal(look(&a, "broken", id, &held), 0);
    assert_false(has_place(&held));
}

static void a_break_before_the_watch_counts(void **state)
{
    struct request held, own;

    (void)state;
    enter(&a, "broken_before", MUTEX, &held);
    assert_int_equal(take_away(&c, "broken_before", place_of(&held)), 0);
    watch(&a, "broken_before", &held, &own);
    assert_true(await_news(&a, "broken_before", &held, &own));
    assert_false(has_place(&held));
}

static void a_broken_waiter_wakes(void **state)
{
    struct request held, waits, watching;

    (void)state;
    enter(&a, "waiter_broken", MUTEX, &held);
    enter(&b, "waiter_broken", MUTEX, &waits);
    watch(&b, "waiter_broken", &waits, &watching);
    assert_false(player_await(&b, &watching, QUIET));
    assert_int_equal(take_away(&c, "waiter_broken", place_of(&waits)), 0);
    assert_true(await_news(&b, "waiter_broken", &waits, &watching));
    assert_false(has_place(&waits));
}

static void any_holder_that_leaves_a_semaphore_wakes_the_waiter(void **state)
{
    struct request one, two, waits, watching;

    (void)state;
    for (int which = 0; which < 2; which++) {
        uint64_t id[2];
        id[0] = enter(&a, "whoever", semaphore(2, 1), &one);
        id[1] = enter(&b, "whoever", semaphore(2, 1), &two);
        uint64_t last = enter(&c, "whoever", semaphore(2, 1), &waits);
        assert_false(is_granted(&waits));
        watch(&c, "whoever", &waits, &watching);
        int slot = which == 0 ? slot_of(&one) : slot_of(&two);
        assert_int_equal(leave(which == 0 ? &a : &b, "whoever", id[which]), 0);
        assert_true(await_grant(&c, "whoever", &waits, &watching));
        assert_int_equal(slot_of(&waits), slot);
        assert_int_equal(leave(which == 0 ? &b : &a, "whoever", id[1 - which]), 0);
        assert_int_equal(leave(&c, "whoever", last), 0);
    }
}

/* From then on it depends on other places. */
static void a_waiter_behind_one_that_leaves_still_wakes(void **state)
{
    struct request one, two, three, waits, watching;

    (void)state;
    enter(&a, "gives_up", semaphore(2, 1), &one);
    enter(&b, "gives_up", semaphore(2, 1), &two);
    uint64_t id = enter(&c, "gives_up", semaphore(2, 1), &three);
    enter(&d, "gives_up", semaphore(2, 1), &waits);
    watch(&d, "gives_up", &waits, &watching);
    assert_int_equal(leave(&c, "gives_up", id), 0);
    if (player_await(&d, &watching, QUIET)) {
        id = waits.req.id;
        assert_int_equal(look(&d, "gives_up", id, &waits), 0);
        assert_false(is_granted(&waits));
        watch(&d, "gives_up", &waits, &watching);
    }
    player_close(&a); /* neither of the two places next to it */
    assert_true(await_grant(&d, "gives_up", &waits, &watching));
}

static void readers_wake_together(void **state)
{
    struct request writer, view[2], watching[2];

    (void)state;
    uint64_t id = enter(&a, "together", WRITER, &writer);
    enter(&b, "together", READER, &view[0]);
    enter(&c, "together", READER, &view[1]);
    watch(&b, "together", &view[0], &watching[0]);
    watch(&c, "together", &view[1], &watching[1]);
    assert_int_equal(leave(&a, "together", id), 0);
    assert_true(await_grant(&b, "together", &view[0], &watching[0]));
    assert_true(await_grant(&c, "together", &view[1], &watching[1]));
}

static void a_writer_wakes_after_the_last_reader(void **state)
{
    struct request one, two, waits, watching;

    (void)state;
    uint64_t first = enter(&a, "all_readers", READER, &one);
    uint64_t second = enter(&b, "all_readers", READER, &two);
    enter(&c, "all_readers", WRITER, &waits);
    watch(&c, "all_readers", &waits, &watching);
    assert_int_equal(leave(&b, "all_readers", second), 0);
    assert_int_equal(leave(&a, "all_readers", first), 0);
    assert_true(await_grant(&c, "all_readers", &waits, &watching));
}

/* ---- From outside ---------------------------------------------------------------- */

static void a_refused_claim_wakes_when_the_holder_leaves(void **state)
{
    struct request held, refused, watching;

    (void)state;
    uint64_t id = enter(&a, "outside", CLAIM, &held);
    enter(&b, "outside", CLAIM, &refused);
    assert_true(is_refused(&refused));
    watch_place(&b, "outside", &refused, place_in_the_way(&refused), &watching);
    assert_false(player_await(&b, &watching, QUIET));
    assert_int_equal(leave(&a, "outside", id), 0);
    assert_true(player_await(&b, &watching, LIMIT));
    assert_int_equal(watching.req.status, 0);
    enter(&b, "outside", CLAIM, &refused);
    assert_true(is_granted(&refused));
}

static void a_watch_of_a_removed_place_is_answered_at_once(void **state)
{
    struct request held, watching;

    (void)state;
    uint64_t id = enter(&a, "long_gone", MUTEX, &held);
    assert_int_equal(leave(&a, "long_gone", id), 0);
    watch_place(&b, "long_gone", NULL, place_of(&held), &watching);
    assert_true(player_await(&b, &watching, LIMIT));
}

static void a_watch_of_a_queue_is_answered_at_any_change(void **state)
{
    struct request all, held, watching;

    (void)state;
    assert_int_equal(list(&b, "any", &all), 0);
    watch_line(&b, "any", &all, &watching);
    assert_false(player_await(&b, &watching, QUIET));
    uint64_t id = enter(&a, "any", MUTEX, &held);
    assert_true(player_await(&b, &watching, LIMIT));

    assert_int_equal(list(&b, "any", &all), 0);
    watch_line(&b, "any", &all, &watching);
    assert_false(player_await(&b, &watching, QUIET));
    assert_int_equal(leave(&a, "any", id), 0);
    assert_true(player_await(&b, &watching, LIMIT));

    /* A change between the LIST and the watch counts. */
    assert_int_equal(list(&b, "any", &all), 0);
    enter(&a, "any", MUTEX, &held);
    watch_line(&b, "any", &all, &watching);
    assert_true(player_await(&b, &watching, LIMIT));
}

/* ---- A process that dies ------------------------------------------------------- */

static void hold_for_ever(struct child *parent)
{
    struct player  player;
    struct request request;

    player_open(&player);
    enter(&player, "dies", MUTEX, &request);
    must(is_granted(&request));
    child_say(parent);
    child_hear(parent, -1);
}

static void a_waiter_wakes_when_the_holder_dies(void **state)
{
    struct child   child;
    struct request waits, watching, all, outside;

    (void)state;
    if (!promise_is_shared())
        skip();
    child_start(&child, hold_for_ever);
    assert_true(child_hear(&child, LIMIT));
    enter(&b, "dies", MUTEX, &waits);
    assert_false(is_granted(&waits));
    watch(&b, "dies", &waits, &watching);
    assert_int_equal(list(&c, "dies", &all), 0);
    watch_line(&c, "dies", &all, &outside);
    assert_false(player_await(&b, &watching, QUIET));
    child_kill(&child);
    assert_true(await_grant(&b, "dies", &waits, &watching));
    assert_true(player_await(&c, &outside, LIMIT));
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_all, close_all)
    const struct CMUnitTest tests[] = {
        TEST(a_waiter_wakes_when_the_holder_leaves),
        TEST(a_waiter_wakes_within_one_session),
        TEST(a_waiter_wakes_when_the_session_of_the_holder_closes),
        TEST(a_leave_before_the_watch_counts),
        TEST(a_waiter_and_the_holder_wake_when_the_holder_is_broken),
        TEST(a_break_before_the_watch_counts),
        TEST(a_broken_waiter_wakes),
        TEST(any_holder_that_leaves_a_semaphore_wakes_the_waiter),
        TEST(a_waiter_behind_one_that_leaves_still_wakes),
        TEST(readers_wake_together),
        TEST(a_writer_wakes_after_the_last_reader),
        TEST(a_refused_claim_wakes_when_the_holder_leaves),
        TEST(a_watch_of_a_removed_place_is_answered_at_once),
        TEST(a_watch_of_a_queue_is_answered_at_any_change),
        TEST(a_waiter_wakes_when_the_holder_dies),
    };
#undef TEST

    promise_start(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
