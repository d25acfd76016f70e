/* s3_news.c - a watch is answered in time also when no place leaves: after a DOWNGRADE,
 * an ASK, or a change of the queue. */
/* one thread */
#include "lib/four_players.h"

#include "holdfast.h"

#include <string.h>

#define LIMIT 10000 /* ms; a slow store is not wrong */
#define QUIET 30

/* ---- DOWNGRADE ----------------------------------------------------------------- */

static void readers_are_granted_when_the_writer_downgrades(void **state)
{
    struct request held, amended, view[2], last, watching[2], left_out;

    (void)state;
    uint64_t id = enter(&a, "join", WRITER, &held);
    enter(&b, "join", READER, &view[0]);
    enter(&c, "join", READER, &view[1]);
    uint64_t writer = enter(&d, "join", WRITER, &last);
    watch(&b, "join", &view[0], &watching[0]);
    watch(&c, "join", &view[1], &watching[1]);
    watch(&d, "join", &last, &left_out);
    assert_false(player_await(&b, &watching[0], QUIET));
    assert_int_equal(downgrade(&a, "join", id, READER, &amended), 0);
    assert_true(await_grant(&b, "join", &view[0], &watching[0]));
    assert_true(await_grant(&c, "join", &view[1], &watching[1]));
    assert_int_equal(look(&d, "join", writer, &last), 0);
    assert_false(is_granted(&last));
}

static void a_waiting_writer_is_not_granted_by_a_downgrade(void **state)
{
    struct request held, amended, writer, reader, watching;

    (void)state;
    uint64_t id = enter(&a, "slip", WRITER, &held);
    uint64_t next = enter(&b, "slip", WRITER, &writer);
    uint64_t last = enter(&c, "slip", READER, &reader);
    assert_int_equal(downgrade(&a, "slip", id, READER, &amended), 0);
    assert_true(is_granted(&amended));
    assert_int_equal(look(&b, "slip", next, &writer), 0);
    assert_false(is_granted(&writer));
    assert_int_equal(look(&c, "slip", last, &reader), 0);
    assert_false(is_granted(&reader)); /* it does not overtake the writer */
    watch(&b, "slip", &writer, &watching);
    assert_int_equal(leave(&a, "slip", id), 0);
    assert_true(await_grant(&b, "slip", &writer, &watching));
}

static void a_downgrade_frees_slots_of_a_semaphore(void **state)
{
    struct request held, other, amended, view, watching;

    (void)state;
    uint64_t id = enter(&a, "room", semaphore(5, 4), &held);
    enter(&b, "room", semaphore(5, 1), &other);
    enter(&c, "room", semaphore(5, 2), &view);
    watch(&c, "room", &view, &watching);
    assert_int_equal(downgrade(&a, "room", id, semaphore(5, 3), &amended), 0);
    assert_int_equal(slot_of(&amended), slot_of(&held));
    if (player_await(&c, &watching, QUIET)) { /* one slot is not enough */
        uint64_t mine = view.req.id;
        assert_int_equal(look(&c, "room", mine, &view), 0);
        assert_false(is_granted(&view));
        watch(&c, "room", &view, &watching);
    }
    assert_int_equal(downgrade(&a, "room", id, semaphore(5, 2), &amended), 0);
    assert_true(await_grant(&c, "room", &view, &watching));
    assert_int_not_equal(slot_of(&view), slot_of(&amended));
    assert_int_not_equal(slot_of(&view), slot_of(&other));
}

static void a_downgrade_before_the_watch_counts(void **state)
{
    struct request held, amended, view, watching;

    (void)state;
    uint64_t id = enter(&a, "shrank", WRITER, &held);
    enter(&b, "shrank", READER, &view);
    assert_int_equal(downgrade(&a, "shrank", id, READER, &amended), 0);
    watch(&b, "shrank", &view, &watching);
    assert_true(await_grant(&b, "shrank", &view, &watching));
}

static void a_waiter_that_downgrades_is_granted_if_it_fits(void **state)
{
    struct request held, view, watching;

    (void)state;
    enter(&a, "fits_now", READER, &held);
    uint64_t id = enter(&b, "fits_now", WRITER, &view);
    enter(&c, "fits_now", READER, &view);
    watch(&c, "fits_now", &view, &watching);
    assert_int_equal(downgrade(&b, "fits_now", id, READER, &held), 0);
    assert_true(is_granted(&held));
    assert_true(await_grant(&c, "fits_now", &view, &watching));
}

/* ---- ASK ------------------------------------------------------------------------- */

static void a_holder_is_notified_of_an_ask(void **state)
{
    struct request held, own;

    (void)state;
    uint64_t id = enter(&a, "asked", MUTEX, &held);
    assert_null(asked_of(&held));
    watch(&a, "asked", &held, &own);
    assert_false(player_await(&a, &own, QUIET));
    assert_int_equal(ask_for(&b, "asked", place_of(&held), "it is urgent"), 0);
    assert_true(await_news(&a, "asked", &held, &own));
    assert_true(is_granted(&held)); /* ASK takes nothing away */
    assert_non_null(asked_of(&held));
    assert_string_equal(asked_of(&held), "it is urgent");
    assert_int_equal(look(&a, "asked", id, &held), 0);
    assert_true(is_granted(&held));
    assert_non_null(asked_of(&held));
    assert_string_equal(asked_of(&held), "it is urgent");

    /* No more news until the next ASK. */
    watch(&a, "asked", &held, &own);
    assert_false(player_await(&a, &own, QUIET));
    assert_int_equal(ask_for(&c, "asked", place_of(&held), NULL), 0);
    assert_true(await_news(&a, "asked", &held, &own));
    assert_non_null(asked_of(&held));
    assert_string_equal(asked_of(&held), "");
    assert_int_equal(leave(&a, "asked", id), 0);
}

static void an_ask_before_the_watch_counts(void **state)
{
    struct request held, own;

    (void)state;
    enter(&a, "asked_before", MUTEX, &held);
    assert_int_equal(ask_for(&b, "asked_before", place_of(&held), "now"), 0);
    watch(&a, "asked_before", &held, &own);
    assert_true(await_news(&a, "asked_before", &held, &own));
    assert_non_null(asked_of(&held));
    assert_string_equal(asked_of(&held), "now");
}

static void a_session_may_ask_itself(void **state)
{
    struct request held, own;

    (void)state;
    enter(&a, "by_itself", MUTEX, &held);
    watch(&a, "by_itself", &held, &own);
    assert_int_equal(ask_for(&a, "by_itself", place_of(&held), "why not"), 0);
    assert_true(await_news(&a, "by_itself", &held, &own));
    assert_non_null(asked_of(&held));
    assert_string_equal(asked_of(&held), "why not");
}

/* Longer than what a holder keeps of it. */
static void a_long_reason_is_news_only_once(void **state)
{
    struct request held, own;
    char           why[301];

    (void)state;
    memset(why, 'y', sizeof why - 1);
    why[sizeof why - 1] = '\0';
    enter(&a, "long", MUTEX, &held);
    watch(&a, "long", &held, &own);
    assert_int_equal(ask_for(&b, "long", place_of(&held), why), 0);
    assert_true(await_news(&a, "long", &held, &own));
    assert_non_null(asked_of(&held));
    assert_int_equal(strncmp(asked_of(&held), why, 200), 0);
    watch(&a, "long", &held, &own);
    assert_false(player_await(&a, &own, QUIET));
    end_watch(&a, &own);
}

/* The next holder is not asked. */
static void an_ask_is_for_one_place(void **state)
{
    struct request held, next, other;

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

/* ---- How many are ahead -------------------------------------------------------- */

static void a_follower_is_notified_of_each_place_that_leaves(void **state)
{
    struct request held, ahead, view, watching, other;

    (void)state;
    uint64_t first = enter(&a, "follows", WRITER, &held);
    uint64_t second = enter(&b, "follows", WRITER, &ahead);
    uint64_t third = enter(&b, "follows", WRITER, &ahead);
    uint64_t fourth = enter(&b, "follows", WRITER, &ahead);
    enter(&c, "follows", READER, &view);
    assert_int_equal(ahead_of(&view), 4);
    follow(&c, "follows", &view, &watching);
    assert_false(player_await(&c, &watching, QUIET));

    assert_int_equal(leave(&b, "follows", third), 0); /* neither the first nor the last */
    assert_true(await_news(&c, "follows", &view, &watching));
    assert_int_equal(ahead_of(&view), 3);
    follow(&c, "follows", &view, &watching);
    assert_int_equal(downgrade(&a, "follows", first, READER, &other), 0);
    enter(&d, "follows", READER, &other); /* the number ahead stays the same */
    assert_int_equal(leave(&b, "follows", second), 0);
    assert_true(await_news(&c, "follows", &view, &watching));
    assert_int_equal(ahead_of(&view), 2);
    follow(&c, "follows", &view, &watching);
    assert_int_equal(leave(&b, "follows", fourth), 0);
    assert_true(await_news(&c, "follows", &view, &watching));
    assert_true(is_granted(&view));
}

static void a_change_before_the_follow_counts(void **state)
{
    struct request held, ahead, view, watching;

    (void)state;
    enter(&a, "changed", MUTEX, &held);
    uint64_t second = enter(&b, "changed", MUTEX, &ahead);
    enter(&c, "changed", MUTEX, &view);
    assert_int_equal(leave(&b, "changed", second), 0);
    follow(&c, "changed", &view, &watching);
    assert_true(await_news(&c, "changed", &view, &watching));
    assert_int_equal(ahead_of(&view), 1);
}

/* In one client, one watch knows the present state, and one an earlier state. */
static void a_change_counts_beside_another_watch_of_the_client(void **state)
{
    static struct request watching[2]; /* one outlives this function */
    struct request        held, old, fresh;

    (void)state;
    enter(&a, "beside", MUTEX, &held);
    assert_int_equal(list(&c, "beside", &old), 0);
    enter(&b, "beside", MUTEX, &held);
    assert_int_equal(list(&c, "beside", &fresh), 0);
    watch_line(&c, "beside", &fresh, &watching[0]);
    (void)player_await(&c, &watching[0],
                       10 * QUIET); /* set by now; a superfluous answer is no fault */
    watch_line(&c, "beside", &old, &watching[1]);
    assert_true(player_await(&c, &watching[1], LIMIT));
    end_watch(&c, &watching[0]);
}

static void a_follower_is_notified_when_its_place_is_broken(void **state)
{
    struct request held, view, watching;

    (void)state;
    enter(&a, "own_end", MUTEX, &held);
    enter(&b, "own_end", MUTEX, &view);
    follow(&b, "own_end", &view, &watching);
    assert_int_equal(take_away(&c, "own_end", place_of(&view)), 0);
    assert_true(await_news(&b, "own_end", &view, &watching));
    assert_false(has_place(&view));
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_all, close_all)
    const struct CMUnitTest tests[] = {
        TEST(readers_are_granted_when_the_writer_downgrades),
        TEST(a_waiting_writer_is_not_granted_by_a_downgrade),
        TEST(a_downgrade_frees_slots_of_a_semaphore),
        TEST(a_downgrade_before_the_watch_counts),
        TEST(a_waiter_that_downgrades_is_granted_if_it_fits),
        TEST(a_holder_is_notified_of_an_ask),
        TEST(an_ask_before_the_watch_counts),
        TEST(a_session_may_ask_itself),
        TEST(a_long_reason_is_news_only_once),
        TEST(an_ask_is_for_one_place),
        TEST(a_follower_is_notified_of_each_place_that_leaves),
        TEST(a_change_before_the_follow_counts),
        TEST(a_change_counts_beside_another_watch_of_the_client),
        TEST(a_follower_is_notified_when_its_place_is_broken),
    };
#undef TEST

    promise_start(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
