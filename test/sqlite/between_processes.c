/* between_processes.c - downgrading, asking, counting and limits, between processes
 * that know each other only through the file. */
/* one thread */
#include "lib/temp_store.h"

#include "holdfast.h"

#include <string.h>

#define LIMIT  10000 /* ms */
#define PROMPT 1800  /* less than the pause between two checks */
#define QUIET  50

/* ---- Downgrade --------------------------------------------------------------- */

static struct hf_shape shape; /* of the next child, which inherits it */

/* Signals the parent when it is queued and when it is granted; leaves when signaled. */
static void take_turn(struct child *parent)
{
    struct player  player;
    struct request request;

    player_open(&player);
    enter(&player, "x", shape, &request);
    child_say(parent);
    must(wait_for_turn(&player, "x", &request, LIMIT));
    child_say(parent);
    must(child_hear(parent, -1));
    must(leave(&player, "x", request.req.id) == 0);
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
    struct player  player;
    struct child   near[2], writer, far;
    struct request held, amended;

    (void)state;
    player_open(&player);
    uint64_t id = enter(&player, "x", WRITER, &held);
    start_in_line(&near[0], READER);
    start_in_line(&near[1], READER);
    start_in_line(&writer, WRITER);
    start_in_line(&far, READER);
    assert_int_equal(downgrade(&player, "x", id, READER, &amended), 0);
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

/* First it waits for the holder with the larger weight only.  After the downgrade it
 * waits for the other holder, whose death wakes nobody. */
static void death_of_the_new_blocker_after_a_downgrade_is_noticed(void **state)
{
    struct player  player, last;
    struct child   first;
    struct request held, amended, waits, watching;

    (void)state;
    player_open(&player);
    player_open(&last);
    start_in_line(&first, semaphore(4, 2));
    assert_true(child_hear(&first, LIMIT));
    uint64_t id = enter(&player, "x", semaphore(4, 2), &held);
    enter(&last, "x", semaphore(4, 3), &waits);
    watch(&last, "x", &waits, &watching);
    assert_int_equal(downgrade(&player, "x", id, semaphore(4, 1), &amended), 0);
    assert_false(player_await(&last, &watching, QUIET));
    child_kill(&first);
    assert_true(player_await(&last, &watching, PROMPT));
    assert_true(is_granted(&watching));
    player_close(&player);
    player_close(&last);
}

/* The second holder was killed before the downgrade. */
static void downgrade_skips_dead_places(void **state)
{
    struct player  a, b;
    struct child   dead;
    struct request held, amended, waits, watching;

    (void)state;
    player_open(&a);
    player_open(&b);
    uint64_t id = enter(&a, "x", WRITER, &held);
    start_in_line(&dead, WRITER);
    enter(&b, "x", READER, &waits);
    watch(&b, "x", &waits, &watching);
    child_kill(&dead); /* b does not run, so it has not noticed */
    assert_int_equal(downgrade(&a, "x", id, READER, &amended), 0);
    assert_true(player_await(&b, &watching, PROMPT));
    assert_true(wait_for_turn(&b, "x", &waits, PROMPT));
    player_close(&a);
    player_close(&b);
}

/* ---- Asking ------------------------------------------------------------------ */

static void expect_reason(struct player *player, struct request *view, const char *why)
{
    struct request watching;
    uint64_t       id = view->req.id;

    watch(player, "x", view, &watching);
    must(player_await(player, &watching, LIMIT));
    must(look(player, "x", id, view) == 0 && is_granted(view));
    must(asked_of(view) != NULL && strcmp(asked_of(view), why) == 0);
}

static void hold_and_hear(struct child *parent)
{
    struct player  player;
    struct request request;

    child_take(parent, &player, MUTEX, &request);
    expect_reason(&player, &request, "first");
    child_say(parent);
    expect_reason(&player, &request, "second");
    child_say(parent);
    must(child_hear(parent, -1)); /* asked once more while we did not watch */
    expect_reason(&player, &request, "third");
    child_say(parent);
    must(child_hear(parent, -1));
    must(leave(&player, "x", request.req.id) == 0);
    player_close(&player);
}

static uint64_t first_place(struct player *player)
{
    struct request all;

    assert_int_equal(list(player, "x", &all), 0);
    assert_true(all.count > 0);
    return place_listed(&all.seen[0]);
}

static void owner_gets_the_reason_of_another_process(void **state)
{
    struct temp_store *temp = *state;
    struct player      player;
    struct child       child;

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
    assert_int_equal(temp_sql(temp, "SELECT count(*) FROM ask"), 1);
    child_end(&child);
    assert_int_equal(ask_for(&player, "x", place, "fourth"), HF_ENOTFOUND);
    assert_non_null(strstr(player.store->errmsg, "gone"));
    player_close(&player);
}

/* Its row still exists. */
static void asking_a_dead_holder_fails(void **state)
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

static void reasons_at_ended_places_are_removed(void **state)
{
    struct temp_store *temp = *state;
    struct player      player;
    struct request     request;

    player_open(&player);
    for (int i = 0; i < 5; i++) {
        uint64_t id = enter(&player, "x", MUTEX, &request);
        assert_int_equal(ask_for(&player, "x", place_of(&request), "please"), 0);
        assert_int_equal(leave(&player, "x", id), 0);
        assert_int_equal(temp_sql(temp, "SELECT count(*) FROM ask"), 1);
    }
    player_close(&player);
}

/* ---- Counting ---------------------------------------------------------------- */

static struct player a, b, c;

static int open_three(void **state)
{
    int r = temp_setup(state);

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
    return temp_teardown(state);
}

static int enter_limited(struct player *player, uint32_t limit, struct request *ret)
{
    *ret = (struct request){ .req = { .op = HF_ENTER,
                                      .name = "x",
                                      .id = ++player->ids,
                                      .shape = MUTEX,
                                      .note = "",
                                      .limit = limit } };
    return player_run(player, ret);
}

static void dead_waiters_do_not_count_for_the_limit(void **state)
{
    struct child   dead[2];
    struct request held, between, waits, refused;

    (void)state;
    enter(&c, "y", MUTEX, &held); /* a session that starts later would sweep */
    uint64_t id = enter(&a, "x", MUTEX, &held);
    start_in_line(&dead[0], MUTEX);
    enter(&b, "x", MUTEX, &between); /* it does not run, so it sweeps nothing */
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

/* A client that meets a dead place removes it, so that those behind count right. */
static void dead_places_are_not_counted_once_swept(void **state)
{
    struct child   child;
    struct request held, between, watching, view;

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

/* A change that grants nothing, before the WATCH came. */
static void follower_sees_changes_before_its_watch(void **state)
{
    static struct request watching; /* it lasts longer than this function */
    struct request        request, view;

    (void)state;
    enter(&a, "x", MUTEX, &request);
    uint64_t second = enter(&a, "x", MUTEX, &request);
    enter(&a, "x", MUTEX, &request);
    uint64_t id = enter(&b, "x", MUTEX, &view);
    assert_int_equal(leave(&a, "x", second), 0);
    follow(&b, "x", &view, &watching);
    assert_true(player_await(&b, &watching, PROMPT));
    assert_int_equal(look(&b, "x", id, &view), 0);
    assert_int_equal(ahead_of(&view), 2);
    follow(&b, "x", &view, &watching);
    assert_false(player_await(&b, &watching, QUIET)); /* it does not spin */
}

/* The place that dies is not the one that blocks it. */
static void follower_notices_deaths_far_ahead(void **state)
{
    static struct request watching; /* it lasts longer than this function */
    struct child          child;
    struct request        held, between, view;

    (void)state;
    enter(&a, "x", MUTEX, &held);
    start_in_line(&child, MUTEX);
    enter(&b, "x", MUTEX, &between); /* which never runs */
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

/* It died after the last read and before the WATCH: no wake-up comes. */
static void follower_notices_a_death_before_its_watch(void **state)
{
    struct child   child;
    struct request held, between, view, watching;

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

/* A claim has no place in the line. */
static void refused_claim_sees_changes_before_its_watch(void **state)
{
    struct request held, refused, watching;

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
#define TEST(name)  cmocka_unit_test_setup_teardown(name, temp_setup, temp_teardown)
#define THREE(name) cmocka_unit_test_setup_teardown(name, open_three, close_three)
    const struct CMUnitTest tests[] = {
        TEST(downgrade_lets_in_readers_up_to_a_writer),
        TEST(death_of_the_new_blocker_after_a_downgrade_is_noticed),
        TEST(downgrade_skips_dead_places),
        TEST(owner_gets_the_reason_of_another_process),
        TEST(asking_a_dead_holder_fails),
        TEST(reasons_at_ended_places_are_removed),
        THREE(dead_waiters_do_not_count_for_the_limit),
        THREE(dead_places_are_not_counted_once_swept),
        THREE(follower_sees_changes_before_its_watch),
        THREE(follower_notices_deaths_far_ahead),
        THREE(follower_notices_a_death_before_its_watch),
        THREE(refused_claim_sees_changes_before_its_watch),
    };
#undef TEST
#undef THREE

    return cmocka_run_group_tests(tests, NULL, NULL);
}
