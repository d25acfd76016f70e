/* s3_news.c - a watch is not too late for what happens without anybody leaving:
 * a place that shrinks, a holder that is asked, a line that looks different. */
/* one thread */
#include "lib/cast.h"

#include "holdfast.h"

#include <string.h>

#define LIMIT 10000 /* ms; a store that needs it all is slow, but not wrong */
#define QUIET 30

/* ---- AMEND ----------------------------------------------------------------------- */

static void readers_join_a_writer_that_becomes_one(void **state)
{
    struct ask held, amended, view[2], last, watching[2], left_out;

    (void)state;
    uint64_t id = enter(&a, "join", WRITER, &held);
    enter(&b, "join", READER, &view[0]);
    enter(&c, "join", READER, &view[1]);
    uint64_t writer = enter(&d, "join", WRITER, &last);
    watch(&b, "join", &view[0], &watching[0]);
    watch(&c, "join", &view[1], &watching[1]);
    watch(&d, "join", &last, &left_out);
    assert_false(player_await(&b, &watching[0], QUIET));
    assert_int_equal(amend(&a, "join", id, READER, &amended), 0);
    assert_true(comes_true(&b, "join", &view[0], &watching[0]));
    assert_true(comes_true(&c, "join", &view[1], &watching[1]));
    assert_int_equal(look(&d, "join", writer, &last), 0);
    assert_false(is_granted(&last));
}

/* It would be next: it stays so, and has to wait for the end. */
static void a_writer_does_not_slip_in(void **state)
{
    struct ask held, amended, writer, reader, watching;

    (void)state;
    uint64_t id = enter(&a, "slip", WRITER, &held);
    uint64_t next = enter(&b, "slip", WRITER, &writer);
    uint64_t last = enter(&c, "slip", READER, &reader);
    assert_int_equal(amend(&a, "slip", id, READER, &amended), 0);
    assert_true(is_granted(&amended));
    assert_int_equal(look(&b, "slip", next, &writer), 0);
    assert_false(is_granted(&writer));
    assert_int_equal(look(&c, "slip", last, &reader), 0);
    assert_false(is_granted(&reader)); /* nobody overtakes the writer, either */
    watch(&b, "slip", &writer, &watching);
    assert_int_equal(leave(&a, "slip", id), 0);
    assert_true(comes_true(&b, "slip", &writer, &watching));
}

static void a_semaphore_has_room_again(void **state)
{
    struct ask held, other, amended, view, watching;

    (void)state;
    uint64_t id = enter(&a, "room", semaphore(5, 4), &held);
    enter(&b, "room", semaphore(5, 1), &other);
    enter(&c, "room", semaphore(5, 2), &view);
    watch(&c, "room", &view, &watching);
    assert_int_equal(amend(&a, "room", id, semaphore(5, 3), &amended), 0);
    assert_int_equal(slot_of(&amended), slot_of(&held));
    if (player_await(&c, &watching, QUIET)) { /* one place is not enough */
        uint64_t mine = view.req.id;
        assert_int_equal(look(&c, "room", mine, &view), 0);
        assert_false(is_granted(&view));
        watch(&c, "room", &view, &watching);
    }
    assert_int_equal(amend(&a, "room", id, semaphore(5, 2), &amended), 0);
    assert_true(comes_true(&c, "room", &view, &watching));
    assert_int_not_equal(slot_of(&view), slot_of(&amended));
    assert_int_not_equal(slot_of(&view), slot_of(&other));
}

static void it_shrank_before_the_watch(void **state)
{
    struct ask held, amended, view, watching;

    (void)state;
    uint64_t id = enter(&a, "shrank", WRITER, &held);
    enter(&b, "shrank", READER, &view);
    assert_int_equal(amend(&a, "shrank", id, READER, &amended), 0);
    watch(&b, "shrank", &view, &watching);
    assert_true(comes_true(&b, "shrank", &view, &watching));
}

static void a_waiter_that_shrinks_is_let_in(void **state)
{
    struct ask held, view, watching;

    (void)state;
    enter(&a, "fits_now", READER, &held);
    uint64_t id = enter(&b, "fits_now", WRITER, &view);
    enter(&c, "fits_now", READER, &view);
    watch(&c, "fits_now", &view, &watching);
    assert_int_equal(amend(&b, "fits_now", id, READER, &held), 0);
    assert_true(is_granted(&held));
    assert_true(comes_true(&c, "fits_now", &view, &watching));
}

/* ---- ASK ------------------------------------------------------------------------- */

static void the_holder_hears_that_it_is_asked(void **state)
{
    struct ask held, own;

    (void)state;
    uint64_t id = enter(&a, "asked", MUTEX, &held);
    assert_null(asked_of(&held));
    watch(&a, "asked", &held, &own);
    assert_false(player_await(&a, &own, QUIET));
    assert_int_equal(ask_for(&b, "asked", place_of(&held), "it is urgent"), 0);
    assert_true(hears(&a, "asked", &held, &own));
    assert_true(is_granted(&held)); /* nothing was taken away */
    assert_non_null(asked_of(&held));
    assert_string_equal(asked_of(&held), "it is urgent");
    assert_int_equal(look(&a, "asked", id, &held), 0);
    assert_true(is_granted(&held));
    assert_non_null(asked_of(&held));
    assert_string_equal(asked_of(&held), "it is urgent");

    /* Having read that, it has no more to hear, until it is asked again. */
    watch(&a, "asked", &held, &own);
    assert_false(player_await(&a, &own, QUIET));
    assert_int_equal(ask_for(&c, "asked", place_of(&held), NULL), 0);
    assert_true(hears(&a, "asked", &held, &own));
    assert_non_null(asked_of(&held));
    assert_string_equal(asked_of(&held), "");
    assert_int_equal(leave(&a, "asked", id), 0);
}

static void it_was_asked_before_the_watch(void **state)
{
    struct ask held, own;

    (void)state;
    enter(&a, "asked_before", MUTEX, &held);
    assert_int_equal(ask_for(&b, "asked_before", place_of(&held), "now"), 0);
    watch(&a, "asked_before", &held, &own);
    assert_true(hears(&a, "asked_before", &held, &own));
    assert_non_null(asked_of(&held));
    assert_string_equal(asked_of(&held), "now");
}

static void asked_by_itself(void **state)
{
    struct ask held, own;

    (void)state;
    enter(&a, "by_itself", MUTEX, &held);
    watch(&a, "by_itself", &held, &own);
    assert_int_equal(ask_for(&a, "by_itself", place_of(&held), "why not"), 0);
    assert_true(hears(&a, "by_itself", &held, &own));
    assert_non_null(asked_of(&held));
    assert_string_equal(asked_of(&held), "why not");
}

/* Longer than what a holder keeps of it: it is heard once, and not for ever. */
static void a_long_reason_is_heard_once(void **state)
{
    struct ask held, own;
    char       why[301];

    (void)state;
    memset(why, 'y', sizeof why - 1);
    why[sizeof why - 1] = '\0';
    enter(&a, "long", MUTEX, &held);
    watch(&a, "long", &held, &own);
    assert_int_equal(ask_for(&b, "long", place_of(&held), why), 0);
    assert_true(hears(&a, "long", &held, &own));
    assert_non_null(asked_of(&held));
    assert_int_equal(strncmp(asked_of(&held), why, 200), 0);
    watch(&a, "long", &held, &own);
    assert_false(player_await(&a, &own, QUIET));
    end_watch(&a, &own);
}

/* Each place by itself: the next holder is not asked. */
static void the_word_is_for_one_place(void **state)
{
    struct ask held, next, other;

    (void)state;
    uint64_t id = enter(&a, "one_place", semaphore(2, 1), &held);
    uint64_t two = enter(&b, "one_place", semaphore(2, 1), &other);
    uint64_t place = place_of(&held);
    assert_int_equal(ask_for(&c, "one_place", place, "me, please"), 0);
    assert_int_equal(look(&b, "one_place", two, &other), 0);
    assert_null(asked_of(&other));
    assert_int_equal(leave(&a, "one_place", id), 0);
    enter(&a, "one_place", semaphore(2, 1), &next);
    assert_null(asked_of(&next));
    assert_int_equal(ask_for(&c, "one_place", place, "too late"), HF_ENOTFOUND);
    assert_int_equal(ask_for(&c, "nowhere", place, "nobody"), HF_ENOTFOUND);
}

/* ---- How many are ahead --------------------------------------------------------------- */

static void who_follows_its_place_hears_of_each_that_leaves(void **state)
{
    struct ask held, ahead, view, watching, other;

    (void)state;
    uint64_t first = enter(&a, "follows", WRITER, &held);
    uint64_t second = enter(&b, "follows", WRITER, &ahead);
    uint64_t third = enter(&b, "follows", WRITER, &ahead);
    uint64_t fourth = enter(&b, "follows", WRITER, &ahead);
    enter(&c, "follows", READER, &view);
    assert_int_equal(ahead_of(&view), 4);
    follow(&c, "follows", &view, &watching);
    assert_false(player_await(&c, &watching, QUIET));

    assert_int_equal(leave(&b, "follows", third), 0); /* not the first, nor the last */
    assert_true(hears(&c, "follows", &view, &watching));
    assert_int_equal(ahead_of(&view), 3);
    follow(&c, "follows", &view, &watching);
    assert_int_equal(amend(&a, "follows", first, READER, &other), 0);
    enter(&d, "follows", READER, &other); /* as many are ahead as before */
    assert_int_equal(leave(&b, "follows", second), 0);
    assert_true(hears(&c, "follows", &view, &watching));
    assert_int_equal(ahead_of(&view), 2);
    follow(&c, "follows", &view, &watching);
    assert_int_equal(leave(&b, "follows", fourth), 0);
    assert_true(hears(&c, "follows", &view, &watching));
    assert_true(is_granted(&view));
}

static void the_line_changed_before_the_watch(void **state)
{
    struct ask held, ahead, view, watching;

    (void)state;
    enter(&a, "changed", MUTEX, &held);
    uint64_t second = enter(&b, "changed", MUTEX, &ahead);
    enter(&c, "changed", MUTEX, &view);
    assert_int_equal(leave(&b, "changed", second), 0);
    follow(&c, "changed", &view, &watching);
    assert_true(hears(&c, "changed", &view, &watching));
    assert_int_equal(ahead_of(&view), 1);
}

/* In one client, with what is out of date beside what is not. */
static void it_changed_and_another_watches_already(void **state)
{
    static struct ask watching[2]; /* one lasts longer than this function */
    struct ask        held, old, fresh;

    (void)state;
    enter(&a, "beside", MUTEX, &held);
    assert_int_equal(list(&c, "beside", &old), 0);
    enter(&b, "beside", MUTEX, &held);
    assert_int_equal(list(&c, "beside", &fresh), 0);
    watch_line(&c, "beside", &fresh, &watching[0]);
    (void)player_await(&c, &watching[0],
                       10 * QUIET); /* set by now; or answered too often */
    watch_line(&c, "beside", &old, &watching[1]);
    assert_true(player_await(&c, &watching[1], LIMIT));
    end_watch(&c, &watching[0]);
}

static void and_of_its_own_end(void **state)
{
    struct ask held, view, watching;

    (void)state;
    enter(&a, "own_end", MUTEX, &held);
    enter(&b, "own_end", MUTEX, &view);
    follow(&b, "own_end", &view, &watching);
    assert_int_equal(take_away(&c, "own_end", place_of(&view)), 0);
    assert_true(hears(&b, "own_end", &view, &watching));
    assert_false(has_place(&view));
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_all, close_all)
    const struct CMUnitTest tests[] = {
        TEST(readers_join_a_writer_that_becomes_one),
        TEST(a_writer_does_not_slip_in),
        TEST(a_semaphore_has_room_again),
        TEST(it_shrank_before_the_watch),
        TEST(a_waiter_that_shrinks_is_let_in),
        TEST(the_holder_hears_that_it_is_asked),
        TEST(it_was_asked_before_the_watch),
        TEST(asked_by_itself),
        TEST(a_long_reason_is_heard_once),
        TEST(the_word_is_for_one_place),
        TEST(who_follows_its_place_hears_of_each_that_leaves),
        TEST(the_line_changed_before_the_watch),
        TEST(it_changed_and_another_watches_already),
        TEST(and_of_its_own_end),
    };
#undef TEST

    promise_start(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
