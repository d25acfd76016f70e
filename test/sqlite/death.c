/* death.c - processes of the file store are killed or stopped: a stopped one keeps its
 * locks, a killed one loses them. */
/* one thread */
#include "lib/temp_store.h"
#include "sqlite/lib/store_files.h"

#include "holdfast.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define LIMIT  10000 /* ms */
#define PROMPT 1800  /* less than the pause between two checks */
#define QUIET  100

/* Sanitizers make everything slower, the death of a process above all. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SOON 1000
#else
#define SOON 500
#endif

static void hold(struct child *parent)
{
    struct player  player;
    struct request request;

    player_open(&player);
    enter(&player, "x", MUTEX, &request);
    must(wait_for_turn(&player, "x", &request, LIMIT));
    child_say(parent);
    while (!child_hear(parent, 0))
        player_turn(&player, 10);
    must(leave(&player, "x", request.req.id) == 0);
    player_close(&player);
}

/* ---- Killed ------------------------------------------------------------------ */

static int by_size(const void *a, const void *b)
{
    const hf_time *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static void waiter_takes_over_from_a_killed_holder(void **state)
{
    enum { TIMES = 9 };
    hf_time        took[TIMES];
    struct player  player;
    struct child   child;
    struct request request, watching;

    (void)state;
    player_open(&player);
    for (int i = 0; i < TIMES; i++) {
        child_start(&child, hold);
        assert_true(child_hear(&child, LIMIT));
        uint64_t id = enter(&player, "x", MUTEX, &request);
        assert_false(is_granted(&request));
        watch(&player, "x", &request, &watching);
        assert_false(player_await(&player, &watching, 150)); /* it waits */

        hf_time start = hf_now();
        kill(child.pid, SIGKILL);
        assert_true(wait_for_turn(&player, "x", &request, LIMIT));
        took[i] = hf_now() - start;
        child_kill(&child);
        assert_int_equal(leave(&player, "x", id), 0);
    }
    qsort(took, TIMES, sizeof *took, by_size);
    hf_time median = took[TIMES / 2], longest = took[TIMES - 1];
    print_message("replaced after %.1f ms (median), %.1f ms at most\n",
                  (double)median / 1e6, (double)longest / 1e6);
    assert_true(median < SOON * HF_MS);
    player_close(&player);
}

/* The new holder writes the time of its grant itself, as the dead holder could not. */
static void grant_after_a_death_has_its_time(void **state)
{
    struct temp_store *temp = *state;
    struct player      player;
    struct child       child;
    struct request     request, all;

    player_open(&player);
    child_start(&child, hold);
    assert_true(child_hear(&child, LIMIT));
    enter(&player, "x", MUTEX, &request);
    assert_int_equal(list(&player, "x", &all), 0);
    assert_int_equal(all.count, 2);
    int64_t queued = all.seen[1].since;
    child_kill(&child);
    assert_true(wait_for_turn(&player, "x", &request, PROMPT));

    hf_time end = hf_now() + LIMIT * HF_MS;
    do {
        player_turn(&player, 10);
        assert_int_equal(list(&player, "x", &all), 0);
        assert_int_equal(all.count, 1);
    } while (all.seen[0].since == queued && hf_now() < end);
    assert_true(all.seen[0].since > queued);
    assert_int_equal(temp_sql(temp, "SELECT count(*) FROM place"), 1);
    player_close(&player);
}

/* The first waiter dies, then the holder, and neither wakes anybody. */
static void killed_waiter_does_not_block_those_behind(void **state)
{
    struct player  player;
    struct child   first, second;
    struct request request;

    (void)state;
    player_open(&player);
    child_start(&first, hold);
    assert_true(child_hear(&first, LIMIT));
    child_start(&second, hold);
    assert_true(player_sees_line(&player, "x", 2, LIMIT));
    enter(&player, "x", MUTEX, &request);
    child_kill(&second);
    assert_false(wait_for_turn(&player, "x", &request, 50));
    child_kill(&first);
    assert_true(wait_for_turn(&player, "x", &request, PROMPT));
    player_close(&player);
}

/* A release grants no dead place.  It makes no difference whether the waiter behind it
 * has noticed the death before. */
static void check_release_skips_the_dead(struct temp_store *temp, bool noticed)
{
    struct player  a, b;
    struct child   child;
    struct request held, request, watching;

    player_open(&a);
    player_open(&b);
    uint64_t id = enter(&a, "x", MUTEX, &held);
    child_start(&child, hold);
    assert_true(player_sees_line(&a, "x", 2, LIMIT));
    uint64_t next = enter(&b, "x", MUTEX, &request);
    watch(&b, "x", &request, &watching);
    child_kill(&child);
    if (noticed) /* it sweeps, and goes on waiting */
        assert_false(player_await(&b, &watching, QUIET));
    assert_int_equal(leave(&a, "x", id), 0);
    assert_int_equal(temp_sql(temp, "SELECT sum(granted <> 0) FROM place"), 1);
    assert_int_equal(temp_sql(temp, "SELECT count(*) FROM place"), 1);
    assert_true(player_await(&b, &watching, PROMPT));
    assert_int_equal(look(&b, "x", next, &request), 0);
    assert_true(is_granted(&request));
    player_close(&a);
    player_close(&b);
}

static void release_skips_a_dead_waiter(void **state)
{
    check_release_skips_the_dead(*state, false);
}

static void release_skips_a_dead_waiter_that_was_noticed(void **state)
{
    check_release_skips_the_dead(*state, true);
}

/* Nobody has removed its row yet. */
static void token_of_a_killed_holder_is_not_proven(void **state)
{
    struct player  player;
    struct child   child;
    struct request all;

    (void)state;
    player_open(&player);
    child_start(&child, hold);
    assert_true(child_hear(&child, LIMIT));
    assert_int_equal(list(&player, "x", &all), 0);
    uint64_t token = all.seen[0].token;
    assert_int_equal(verify_token(&player, "x", token), 0);
    child_kill(&child);
    assert_int_equal(verify_token(&player, "x", token), HF_ELOST);
    player_close(&player);
}

/* The waiter behind the dead one does nothing meanwhile, and no session starts: nobody has
 * removed it. */
static void dead_waiter_does_not_count_for_the_limit(void **state)
{
    struct player  a, b, c;
    struct child   child;
    struct request held, request, other;

    (void)state;
    player_open(&a);
    player_open(&b);
    player_open(&c);
    enter(&c, "y", MUTEX, &other);
    enter(&a, "x", MUTEX, &held);
    child_start(&child, hold);
    assert_true(player_sees_line(&a, "x", 2, LIMIT));
    enter(&b, "x", MUTEX, &request);
    child_kill(&child);
    struct request last = { .req = { .op = HF_ENTER,
                                     .id = ++c.ids,
                                     .name = "x",
                                     .shape = MUTEX,
                                     .note = "",
                                     .limit = 2 } };
    assert_int_equal(player_run(&c, &last), 0);
    player_close(&a);
    player_close(&b);
    player_close(&c);
}

static void hold_slot(struct child *parent)
{
    struct player  player;
    struct request request;

    player_open(&player);
    enter(&player, "sem", semaphore(3, 1), &request);
    must(is_granted(&request));
    child_say(parent);
    child_hear(parent, -1);
}

static void slot_of_a_killed_holder_is_reused(void **state)
{
    struct player  player;
    struct child   child[3];
    struct request request;

    (void)state;
    player_open(&player);
    for (int i = 0; i < 3; i++) {
        child_start(&child[i], hold_slot);
        assert_true(child_hear(&child[i], LIMIT));
    }
    enter(&player, "sem", semaphore(3, 1), &request);
    assert_false(is_granted(&request));
    child_kill(&child[1]);
    assert_true(wait_for_turn(&player, "sem", &request, PROMPT));
    assert_int_equal(slot_of(&request), 1);
    child_kill(&child[0]);
    child_kill(&child[2]);
    player_close(&player);
}

/* When the waiter ahead gives up, the one behind it must watch the holder from then
 * on. */
static void death_is_noticed_after_the_waiter_ahead_gave_up(void **state)
{
    struct player  a, b;
    struct child   child[2];
    struct request between, request, watching;
    uint64_t       next;

    (void)state;
    player_open(&a);
    player_open(&b);
    for (int i = 0; i < 2; i++) {
        child_start(&child[i], hold_slot);
        assert_true(child_hear(&child[i], LIMIT));
    }
    enter(&a, "sem", semaphore(3, 1), &between);
    uint64_t id = enter(&a, "sem", semaphore(3, 1), &between);
    next = enter(&b, "sem", semaphore(3, 1), &request);
    watch(&b, "sem", &request, &watching);
    assert_int_equal(leave(&a, "sem", id), 0);
    assert_false(player_await(&b, &watching, QUIET));
    child_kill(&child[0]);
    assert_true(player_await(&b, &watching, PROMPT));
    assert_int_equal(look(&b, "sem", next, &request), 0);
    assert_true(is_granted(&request));
    child_kill(&child[1]);
    player_close(&a);
    player_close(&b);
}

/* ---- Stopped ----------------------------------------------------------------- */

static void stopped_holder_keeps_the_lock(void **state)
{
    struct player  player;
    struct child   child;
    struct request request;

    (void)state;
    player_open(&player);
    child_start(&child, hold);
    assert_true(child_hear(&child, LIMIT));
    kill(child.pid, SIGSTOP);
    enter(&player, "x", MUTEX, &request);
    assert_false(wait_for_turn(&player, "x", &request, 2500)); /* a check or two */
    kill(child.pid, SIGCONT);
    child_say(&child);
    assert_true(wait_for_turn(&player, "x", &request, LIMIT));
    child_end(&child);
    player_close(&player);
}

/* A process is stopped while it has the write lock: nobody can write, but all requests
 * are answered, and a release succeeds. */
static void requests_are_answered_while_a_writer_is_stopped(void **state)
{
    struct temp_store *temp = *state;
    struct player      a, b;
    struct request     held, request, all;

    player_open(&a);
    player_open(&b);
    uint64_t id = enter(&a, "x", MUTEX, &held);
    enter(&b, "x", MUTEX, &request);
    int fd = take_write_lock(temp);

    struct request late = { .req = {
                                .op = HF_ENTER, .name = "y", .id = 99, .shape = MUTEX } };
    hf_time        start = hf_now();
    assert_int_equal(player_run(&b, &late), HF_EDOWN);
    assert_true(hf_now() - start < 5 * HF_SEC);
    assert_non_null(strstr(b.store->errmsg, "stopped"));

    assert_int_equal(leave(&a, "x", id), 0);
    assert_true(wait_for_turn(&b, "x", &request, LIMIT));
    assert_int_equal(list(&a, "x", &all), 0);
    assert_int_equal(all.count, 1);
    close(fd);
    assert_int_equal(player_run(&b, &late), 0);
    assert_true(is_granted(&late));
    player_close(&a);
    player_close(&b);
}

/* A process that breaks a place has no descriptor left to open FIFOs; or it is killed
 * between its COMMIT and its wake-ups.  The holder lives, and keeps its liveness lock. */
static void waiter_wakes_a_holder_that_nobody_woke(void **state)
{
    struct player  a, b, c;
    struct request held, lost, request, watching;
    struct rlimit  old, none;

    (void)state;
    player_open(&a);
    player_open(&b);
    player_open(&c);
    enter(&a, "x", MUTEX, &held);
    enter(&b, "x", MUTEX, &request);
    watch(&a, "x", &held, &lost);
    watch(&b, "x", &request, &watching);
    assert_int_equal(length(&c, "x"), 2);
    assert_int_equal(take_away(&c, "x", 1), HF_ENOTFOUND); /* its files are open now */

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    none = old;
    none.rlim_cur = 3;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    int r = take_away(&c, "x", place_of(&held));
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    assert_int_equal(r, 0);
    assert_true(player_await(&b, &watching, LIMIT));
    assert_true(is_granted(&watching));
    assert_true(player_await(&a, &lost, LIMIT)); /* the waiter woke it */
    assert_false(has_place(&lost));
    player_close(&a);
    player_close(&b);
    player_close(&c);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, temp_setup, temp_teardown)
    const struct CMUnitTest tests[] = {
        TEST(waiter_takes_over_from_a_killed_holder),
        TEST(grant_after_a_death_has_its_time),
        TEST(killed_waiter_does_not_block_those_behind),
        TEST(release_skips_a_dead_waiter),
        TEST(release_skips_a_dead_waiter_that_was_noticed),
        TEST(token_of_a_killed_holder_is_not_proven),
        TEST(dead_waiter_does_not_count_for_the_limit),
        TEST(slot_of_a_killed_holder_is_reused),
        TEST(death_is_noticed_after_the_waiter_ahead_gave_up),
        TEST(stopped_holder_keeps_the_lock),
        TEST(requests_are_answered_while_a_writer_is_stopped),
        TEST(waiter_wakes_a_holder_that_nobody_woke),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
