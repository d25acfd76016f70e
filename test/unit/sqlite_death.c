/* sqlite_death.c - processes of the SQLite store that are killed or stopped: a
 * process that lives keeps what it holds, a dead one is replaced. */
/* one thread */
#include "lib/lab.h"

#include "holdfast.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#define LIMIT  10000 /* ms */
#define PROMPT 1800  /* less than until somebody would look by himself */
#define QUIET  100

/* Sanitizers make everything slower, the death of a process above all. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SOON 1000
#else
#define SOON 500
#endif

static void hold(struct child *parent)
{
    struct player player;
    struct ask    ask;

    player_open(&player);
    enter(&player, "x", MUTEX, &ask);
    must(wait_for_turn(&player, "x", &ask, LIMIT));
    child_say(parent);
    while (!child_hear(parent, 0))
        player_turn(&player, 10);
    must(leave(&player, "x", ask.req.id) == 0);
    player_close(&player);
}

/* ---- Killed ----------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
    const hf_time *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static void killed_and_replaced(void **state)
{
    enum { TIMES = 9 };
    hf_time       took[TIMES];
    struct player player;
    struct child  child;
    struct ask    ask, watching;

    (void)state;
    player_open(&player);
    for (int i = 0; i < TIMES; i++) {
        child_start(&child, hold);
        assert_true(child_hear(&child, LIMIT));
        uint64_t id = enter(&player, "x", MUTEX, &ask);
        assert_false(is_granted(&ask));
        watch(&player, "x", &ask, &watching);
        assert_false(player_await(&player, &watching, 150)); /* sleep well */

        hf_time start = hf_now();
        kill(child.pid, SIGKILL);
        assert_true(wait_for_turn(&player, "x", &ask, LIMIT));
        took[i] = hf_now() - start;
        child_kill(&child);
        assert_int_equal(leave(&player, "x", id), 0);
    }
    qsort(took, TIMES, sizeof *took, by_size);
    hf_time middle = took[TIMES / 2], longest = took[TIMES - 1];
    print_message("replaced after %.1f ms in the middle, %.1f ms at most\n",
                  (double)middle / 1e6, (double)longest / 1e6);
    assert_true(middle < SOON * HF_MS);
    player_close(&player);
}

/* Since when it holds is written down, though its predecessor told nobody. */
static void held_since_then(void **state)
{
    struct lab   *lab = *state;
    struct player player;
    struct child  child;
    struct ask    ask, all;

    player_open(&player);
    child_start(&child, hold);
    assert_true(child_hear(&child, LIMIT));
    enter(&player, "x", MUTEX, &ask);
    assert_int_equal(list(&player, "x", &all), 0);
    assert_int_equal(all.count, 2);
    int64_t queued = all.seen[1].since;
    child_kill(&child);
    assert_true(wait_for_turn(&player, "x", &ask, PROMPT));

    hf_time end = hf_now() + LIMIT * HF_MS;
    do {
        player_turn(&player, 10);
        assert_int_equal(list(&player, "x", &all), 0);
        assert_int_equal(all.count, 1);
    } while (all.seen[0].since == queued && hf_now() < end);
    assert_true(all.seen[0].since > queued);
    assert_int_equal(lab_sql(lab, "SELECT count(*) FROM ticket"), 1);
    player_close(&player);
}

/* The one next in line dies first, then the holder: nobody is told of either. */
static void a_waiter_dies_then_the_holder(void **state)
{
    struct player player;
    struct child  first, second;
    struct ask    ask;

    (void)state;
    player_open(&player);
    child_start(&first, hold);
    assert_true(child_hear(&first, LIMIT));
    child_start(&second, hold);
    assert_true(lab_becomes(&player, "x", 2, LIMIT));
    enter(&player, "x", MUTEX, &ask);
    child_kill(&second);
    assert_false(wait_for_turn(&player, "x", &ask, 50));
    child_kill(&first);
    assert_true(wait_for_turn(&player, "x", &ask, PROMPT));
    player_close(&player);
}

/* A release passes over the dead: they neither hold nor hear.  Whether the one
 * behind has noticed the death before makes no difference. */
static void check_released_over_the_dead(bool noticed)
{
    struct player a, b;
    struct child  child;
    struct ask    held, ask, watching;

    player_open(&a);
    player_open(&b);
    uint64_t id = enter(&a, "x", MUTEX, &held);
    child_start(&child, hold);
    assert_true(lab_becomes(&a, "x", 2, LIMIT));
    uint64_t next = enter(&b, "x", MUTEX, &ask);
    watch(&b, "x", &ask, &watching);
    child_kill(&child);
    if (noticed) /* it sweeps, and sleeps on */
        assert_false(player_await(&b, &watching, QUIET));
    assert_int_equal(leave(&a, "x", id), 0);
    assert_true(player_await(&b, &watching, PROMPT));
    assert_int_equal(look(&b, "x", next, &ask), 0);
    assert_true(is_granted(&ask));
    player_close(&a);
    player_close(&b);
}

static void released_over_the_dead(void **state)
{
    (void)state;
    check_released_over_the_dead(false);
}

static void released_over_the_dead_and_noticed(void **state)
{
    (void)state;
    check_released_over_the_dead(true);
}

static void hold_slot(struct child *parent)
{
    struct player player;
    struct ask    ask;

    player_open(&player);
    enter(&player, "sem", semaphore(3, 1), &ask);
    must(is_granted(&ask));
    child_say(parent);
    child_hear(parent, -1);
}

static void a_dead_holders_slot_is_free(void **state)
{
    struct player player;
    struct child  child[3];
    struct ask    ask;

    (void)state;
    player_open(&player);
    for (int i = 0; i < 3; i++) {
        child_start(&child[i], hold_slot);
        assert_true(child_hear(&child[i], LIMIT));
    }
    enter(&player, "sem", semaphore(3, 1), &ask);
    assert_false(is_granted(&ask));
    child_kill(&child[1]);
    assert_true(wait_for_turn(&player, "sem", &ask, PROMPT));
    assert_int_equal(slot_of(&ask), 1);
    child_kill(&child[0]);
    child_kill(&child[2]);
    player_close(&player);
}

/* Behind one that gives up, another has to be watched from then on: the first,
 * which was of no interest before. */
static void killed_after_a_waiter_gave_up(void **state)
{
    struct player a, b;
    struct child  child[2];
    struct ask    between, ask, watching;
    uint64_t      next;

    (void)state;
    player_open(&a);
    player_open(&b);
    for (int i = 0; i < 2; i++) {
        child_start(&child[i], hold_slot);
        assert_true(child_hear(&child[i], LIMIT));
    }
    enter(&a, "sem", semaphore(3, 1), &between);
    uint64_t id = enter(&a, "sem", semaphore(3, 1), &between);
    next = enter(&b, "sem", semaphore(3, 1), &ask);
    watch(&b, "sem", &ask, &watching);
    assert_int_equal(leave(&a, "sem", id), 0);
    assert_false(player_await(&b, &watching, QUIET));
    child_kill(&child[0]);
    assert_true(player_await(&b, &watching, PROMPT));
    assert_int_equal(look(&b, "sem", next, &ask), 0);
    assert_true(is_granted(&ask));
    child_kill(&child[1]);
    player_close(&a);
    player_close(&b);
}

/* ---- Stopped ---------------------------------------------------------------------- */

static void stopped_holds_for_ever(void **state)
{
    struct player player;
    struct child  child;
    struct ask    ask;

    (void)state;
    player_open(&player);
    child_start(&child, hold);
    assert_true(child_hear(&child, LIMIT));
    kill(child.pid, SIGSTOP);
    enter(&player, "x", MUTEX, &ask);
    assert_false(wait_for_turn(&player, "x", &ask, 2500)); /* a look or two */
    kill(child.pid, SIGCONT);
    child_say(&child);
    assert_true(wait_for_turn(&player, "x", &ask, LIMIT));
    child_end(&child);
    player_close(&player);
}

/* Stopped in the middle of writing: nobody can write, but everybody gets an
 * answer, and a release still is one. */
static void stopped_in_the_gate(void **state)
{
    struct lab   *lab = *state;
    struct player a, b;
    struct ask    held, ask, all;

    player_open(&a);
    player_open(&b);
    uint64_t id = enter(&a, "x", MUTEX, &held);
    enter(&b, "x", MUTEX, &ask);
    int gate = open(lab_file(lab, "-live"), O_RDWR | O_CLOEXEC);
    assert_int_equal(flock(gate, LOCK_EX | LOCK_NB), 0);

    struct ask late = { .req = {
                            .op = HF_ENTER, .name = "y", .id = 99, .shape = MUTEX } };
    hf_time    start = hf_now();
    assert_int_equal(player_run(&b, &late), HF_EDOWN);
    assert_true(hf_now() - start < 5 * HF_SEC);
    assert_non_null(strstr(b.store->errmsg, "stopped"));

    assert_int_equal(leave(&a, "x", id), 0);
    assert_true(wait_for_turn(&b, "x", &ask, LIMIT));
    assert_int_equal(list(&a, "x", &all), 0);
    assert_int_equal(all.count, 1);
    close(gate);
    assert_int_equal(player_run(&b, &late), 0);
    assert_true(is_granted(&late));
    player_close(&a);
    player_close(&b);
}

/* Whoever takes a place away has no descriptor left to open the FIFOs of the others with; or it
 * is killed between its COMMIT and its writing to them.  The holder lives, and keeps its byte. */
static void taken_away_and_nobody_told(void **state)
{
    struct player a, b, c;
    struct ask    held, lost, ask, watching;
    struct rlimit old, none;

    (void)state;
    player_open(&a);
    player_open(&b);
    player_open(&c);
    enter(&a, "x", MUTEX, &held);
    enter(&b, "x", MUTEX, &ask);
    watch(&a, "x", &held, &lost);
    watch(&b, "x", &ask, &watching);
    assert_int_equal(length(&c, "x"), 2);
    assert_int_equal(take_away(&c, "x", 1), HF_ENOTFOUND); /* all is open that it needs */

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    none = old;
    none.rlim_cur = 3;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    int r = take_away(&c, "x", place_of(&held));
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    assert_int_equal(r, 0);
    assert_true(player_await(&b, &watching, LIMIT));
    assert_true(is_granted(&watching));
    assert_true(player_await(&a, &lost, LIMIT)); /* the waiter told it */
    assert_false(has_place(&lost));
    player_close(&a);
    player_close(&b);
    player_close(&c);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, lab_setup, lab_teardown)
    const struct CMUnitTest tests[] = {
        TEST(killed_and_replaced),
        TEST(held_since_then),
        TEST(a_waiter_dies_then_the_holder),
        TEST(released_over_the_dead),
        TEST(released_over_the_dead_and_noticed),
        TEST(a_dead_holders_slot_is_free),
        TEST(killed_after_a_waiter_gave_up),
        TEST(stopped_holds_for_ever),
        TEST(stopped_in_the_gate),
        TEST(taken_away_and_nobody_told),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
