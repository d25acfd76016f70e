/* sqlite_kinds.c - places in a file that shrink, are asked for, counted and
 * limited, by processes that know of each other only by the file. */
/* one thread */
#include "lib/lab.h"

#include "holdfast.h"

#include <string.h>

#define LIMIT  10000 /* ms */
#define PROMPT 1800  /* less than until somebody would look by himself */
#define QUIET  50

/* ---- Downgrade ---------------------------------------------------------------------- */

static struct hf_shape shape; /* of the next child; it inherits it */

/* Says a word when in line, and one when it is its turn; leaves at one. */
static void take_turn(struct child *parent)
{
    struct player player;
    struct ask    ask;

    player_open(&player);
    enter(&player, "x", shape, &ask);
    child_say(parent);
    must(wait_for_turn(&player, "x", &ask, LIMIT));
    child_say(parent);
    must(child_hear(parent, -1));
    must(leave(&player, "x", ask.req.id) == 0);
    player_close(&player);
}

static void start_in_line(struct child *child, struct hf_shape as)
{
    shape = as;
    child_start(child, take_turn);
    assert_true(child_hear(child, LIMIT));
}

static void downgrade_lets_in_readers_up_to_a_writer(void **state)
{
    struct player player;
    struct child  near[2], writer, far;
    struct ask    held, amended;

    (void)state;
    player_open(&player);
    uint64_t id = enter(&player, "x", WRITER, &held);
    start_in_line(&near[0], READER);
    start_in_line(&near[1], READER);
    start_in_line(&writer, WRITER);
    start_in_line(&far, READER);
    assert_int_equal(amend(&player, "x", id, READER, &amended), 0);
    assert_true(is_granted(&amended));
    assert_int_equal(token_of(&amended), token_of(&held));
    assert_true(child_hear(&near[0], PROMPT));
    assert_true(child_hear(&near[1], PROMPT));
    assert_false(child_hear(&writer, QUIET));
    assert_false(child_hear(&far, 0));

    assert_int_equal(leave(&player, "x", id), 0);
    child_end(&near[1]);
    assert_false(child_hear(&writer, QUIET));
    child_end(&near[0]);
    assert_true(child_hear(&writer, PROMPT));
    assert_false(child_hear(&far, QUIET));
    child_end(&writer);
    assert_true(child_hear(&far, PROMPT));
    child_end(&far);
    player_close(&player);
}

/* First it waits for the big one alone.  When that has shrunk it waits for the
 * other, of which nobody is told that it dies. */
static void who_waits_for_another_after_a_downgrade_notices_his_death(void **state)
{
    struct player player, last;
    struct child  first;
    struct ask    held, amended, waits, watching;

    (void)state;
    player_open(&player);
    player_open(&last);
    start_in_line(&first, semaphore(4, 2));
    assert_true(child_hear(&first, LIMIT));
    uint64_t id = enter(&player, "x", semaphore(4, 2), &held);
    enter(&last, "x", semaphore(4, 3), &waits);
    watch(&last, "x", &waits, &watching);
    assert_int_equal(amend(&player, "x", id, semaphore(4, 1), &amended), 0);
    assert_false(player_await(&last, &watching, QUIET));
    child_kill(&first);
    assert_true(player_await(&last, &watching, PROMPT));
    assert_true(is_granted(&watching));
    player_close(&player);
    player_close(&last);
}

/* The second holder was killed before: a downgrade passes over the dead. */
static void downgrade_over_the_dead(void **state)
{
    struct player a, b;
    struct child  dead;
    struct ask    held, amended, waits, watching;

    (void)state;
    player_open(&a);
    player_open(&b);
    uint64_t id = enter(&a, "x", WRITER, &held);
    start_in_line(&dead, WRITER);
    enter(&b, "x", READER, &waits);
    watch(&b, "x", &waits, &watching);
    child_kill(&dead); /* b is not turned: it has not noticed */
    assert_int_equal(amend(&a, "x", id, READER, &amended), 0);
    assert_true(player_await(&b, &watching, PROMPT));
    assert_true(wait_for_turn(&b, "x", &waits, PROMPT));
    player_close(&a);
    player_close(&b);
}

/* ---- Asking ------------------------------------------------------------------------- */

static void hears(struct player *player, struct ask *view, const char *why)
{
    struct ask watching;
    uint64_t   id = view->req.id;

    watch(player, "x", view, &watching);
    must(player_await(player, &watching, LIMIT));
    must(look(player, "x", id, view) == 0 && is_granted(view));
    must(asked_of(view) != NULL && strcmp(asked_of(view), why) == 0);
}

static void hold_and_hear(struct child *parent)
{
    struct player player;
    struct ask    ask;

    child_take(parent, &player, MUTEX, &ask);
    hears(&player, &ask, "first");
    child_say(parent);
    hears(&player, &ask, "second");
    child_say(parent);
    must(child_hear(parent, -1)); /* asked once more while we did not listen */
    hears(&player, &ask, "third");
    child_say(parent);
    must(child_hear(parent, -1));
    must(leave(&player, "x", ask.req.id) == 0);
    player_close(&player);
}

static uint64_t first_place(struct player *player)
{
    struct ask all;

    assert_int_equal(list(player, "x", &all), 0);
    assert_true(all.count > 0);
    return place_listed(&all.seen[0]);
}

static void asked_by_another_process(void **state)
{
    struct lab   *lab = *state;
    struct player player;
    struct child  child;

    child_start(&child, hold_and_hear);
    assert_true(child_hear(&child, LIMIT));
    player_open(&player);
    uint64_t place = first_place(&player);
    assert_int_equal(ask_for(&player, "x", place, "first"), 0);
    assert_true(child_hear(&child, PROMPT));
    assert_int_equal(ask_for(&player, "x", place, "second"), 0);
    assert_true(child_hear(&child, PROMPT));
    assert_int_equal(ask_for(&player, "x", place, "third"), 0);
    child_say(&child);
    assert_true(child_hear(&child, PROMPT));
    assert_int_equal(lab_sql(lab, "SELECT count(*) FROM ask"), 1);
    child_end(&child);
    assert_int_equal(ask_for(&player, "x", place, "fourth"), HF_ENOTFOUND);
    assert_non_null(strstr(player.store->errmsg, "gone"));
    player_close(&player);
}

/* Its row is still there, it is not. */
static void the_dead_are_not_asked(void **state)
{
    struct player player;
    struct child  child;

    (void)state;
    player_open(&player);
    start_in_line(&child, MUTEX);
    uint64_t place = first_place(&player);
    child_kill(&child);
    assert_int_equal(ask_for(&player, "x", place, "hello?"), HF_ENOTFOUND);
    player_close(&player);
}

static void words_at_tickets_that_are_gone_are_cleared(void **state)
{
    struct lab   *lab = *state;
    struct player player;
    struct ask    ask;

    player_open(&player);
    for (int i = 0; i < 5; i++) {
        uint64_t id = enter(&player, "x", MUTEX, &ask);
        assert_int_equal(ask_for(&player, "x", place_of(&ask), "please"), 0);
        assert_int_equal(leave(&player, "x", id), 0);
        assert_int_equal(lab_sql(lab, "SELECT count(*) FROM ask"), 1);
    }
    player_close(&player);
}

/* ---- Counting ----------------------------------------------------------------------- */

static struct player a, b, c;

static int open_three(void **state)
{
    int r = lab_setup(state);

    player_open(&a);
    player_open(&b);
    player_open(&c);
    return r;
}

static int close_three(void **state)
{
    player_close(&a);
    player_close(&b);
    player_close(&c);
    return lab_teardown(state);
}

static int enter_limited(struct player *player, uint32_t limit, struct ask *ret)
{
    *ret = (struct ask){ .req = { .op = HF_ENTER,
                                  .name = "x",
                                  .id = ++player->ids,
                                  .shape = MUTEX,
                                  .note = "",
                                  .limit = limit } };
    return player_run(player, ret);
}

static void dead_waiters_take_up_no_room(void **state)
{
    struct child dead[2];
    struct ask   held, between, waits, refused;

    (void)state;
    enter(&c, "y", MUTEX, &held); /* a session that starts later would sweep */
    uint64_t id = enter(&a, "x", MUTEX, &held);
    start_in_line(&dead[0], MUTEX);
    enter(&b, "x", MUTEX, &between); /* not turned: it does not meet the dead */
    start_in_line(&dead[1], MUTEX);
    child_kill(&dead[0]);
    child_kill(&dead[1]);
    assert_int_equal(enter_limited(&c, 1, &refused), HF_EFULL);
    assert_int_equal(enter_limited(&c, 2, &waits), 0);
    assert_true(has_place(&waits));
    assert_int_equal(ahead_of(&waits), 2);
    assert_int_equal(enter_limited(&c, 2, &refused), HF_EFULL);
    assert_non_null(strstr(c.store->errmsg, "\"x\""));
    assert_non_null(strstr(c.store->errmsg, "limit is 2"));
    assert_int_equal(length(&a, "x"), 3);
    assert_int_equal(leave(&c, "x", refused.req.id), 0);

    assert_int_equal(leave(&a, "x", id), 0); /* now only one waits */
    assert_int_equal(enter_limited(&c, 2, &waits), 0);
}

/* Whoever meets a dead one removes it, so that those behind count right. */
static void the_dead_are_not_counted_once_met(void **state)
{
    struct child child;
    struct ask   held, between, watching, view;

    (void)state;
    enter(&a, "x", MUTEX, &held);
    start_in_line(&child, MUTEX);
    uint64_t second = enter(&b, "x", MUTEX, &between);
    uint64_t id = enter(&c, "x", MUTEX, &view);
    watch(&b, "x", &between, &watching);
    assert_int_equal(ahead_of(&view), 3);
    child_kill(&child);
    assert_false(player_await(&b, &watching, QUIET));
    assert_int_equal(look(&b, "x", second, &between), 0);
    assert_int_equal(ahead_of(&between), 1);
    assert_int_equal(look(&c, "x", id, &view), 0);
    assert_int_equal(ahead_of(&view), 2);
    assert_int_equal(take_away(&a, "x", place_of(&between)), 0);
    assert_true(player_await(&b, &watching, LIMIT));
}

/* Nothing that concerns its turn, and it was not yet watching. */
static void who_follows_notices_what_happened_before(void **state)
{
    static struct ask watching; /* it lasts longer than this function */
    struct ask        ask, view;

    (void)state;
    enter(&a, "x", MUTEX, &ask);
    uint64_t second = enter(&a, "x", MUTEX, &ask);
    enter(&a, "x", MUTEX, &ask);
    uint64_t id = enter(&b, "x", MUTEX, &view);
    assert_int_equal(leave(&a, "x", second), 0);
    follow(&b, "x", &view, &watching);
    assert_true(player_await(&b, &watching, PROMPT));
    assert_int_equal(look(&b, "x", id, &view), 0);
    assert_int_equal(ahead_of(&view), 2);
    follow(&b, "x", &view, &watching);
    assert_false(player_await(&b, &watching, QUIET)); /* it does not spin */
}

/* The one that dies is not the one it waits for. */
static void who_follows_notices_deaths_far_ahead(void **state)
{
    static struct ask watching; /* it lasts longer than this function */
    struct child      child;
    struct ask        held, between, view;

    (void)state;
    enter(&a, "x", MUTEX, &held);
    start_in_line(&child, MUTEX);
    enter(&b, "x", MUTEX, &between); /* which never looks */
    uint64_t id = enter(&c, "x", MUTEX, &view);
    assert_int_equal(ahead_of(&view), 3);
    follow(&c, "x", &view, &watching);
    assert_false(player_await(&c, &watching, QUIET));
    child_kill(&child);
    assert_true(player_await(&c, &watching, PROMPT));
    assert_int_equal(look(&c, "x", id, &view), 0);
    assert_int_equal(ahead_of(&view), 2);
    follow(&c, "x", &view, &watching);
    assert_false(player_await(&c, &watching, QUIET)); /* it does not spin */
}

/* It died after the look and before the watch: nobody will tell. */
static void who_follows_notices_who_died_before(void **state)
{
    struct child child;
    struct ask   held, between, view, watching;

    (void)state;
    enter(&a, "x", MUTEX, &held);
    start_in_line(&child, MUTEX);
    enter(&b, "x", MUTEX, &between);
    uint64_t id = enter(&c, "x", MUTEX, &view);
    child_kill(&child);
    follow(&c, "x", &view, &watching);
    assert_true(player_await(&c, &watching, PROMPT));
    assert_int_equal(look(&c, "x", id, &view), 0);
    assert_int_equal(ahead_of(&view), 2);
}

/* A claim waits outside. */
static void who_was_refused_notices_what_happened_before(void **state)
{
    struct ask held, refused, watching;

    (void)state;
    uint64_t id = enter(&a, "x", CLAIM, &held);
    enter(&b, "x", CLAIM, &refused);
    assert_true(is_refused(&refused));
    assert_int_equal(leave(&a, "x", id), 0);
    watch_place(&b, "x", &refused, place_in_the_way(&refused), &watching);
    assert_true(player_await(&b, &watching, PROMPT));
}

int main(void)
{
#define TEST(name)  cmocka_unit_test_setup_teardown(name, lab_setup, lab_teardown)
#define THREE(name) cmocka_unit_test_setup_teardown(name, open_three, close_three)
    const struct CMUnitTest tests[] = {
        TEST(downgrade_lets_in_readers_up_to_a_writer),
        TEST(who_waits_for_another_after_a_downgrade_notices_his_death),
        TEST(downgrade_over_the_dead),
        TEST(asked_by_another_process),
        TEST(the_dead_are_not_asked),
        TEST(words_at_tickets_that_are_gone_are_cleared),
        THREE(dead_waiters_take_up_no_room),
        THREE(the_dead_are_not_counted_once_met),
        THREE(who_follows_notices_what_happened_before),
        THREE(who_follows_notices_deaths_far_ahead),
        THREE(who_follows_notices_who_died_before),
        THREE(who_was_refused_notices_what_happened_before),
    };
#undef TEST
#undef THREE

    return cmocka_run_group_tests(tests, NULL, NULL);
}
