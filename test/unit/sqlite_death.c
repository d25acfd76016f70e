/* sqlite_death.c - processes of the SQLite store that are killed, stopped or
 * cloned: whoever lives keeps what it holds, whoever does not is replaced. */
#include "lib/lab.h"

#include "holdfast.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIMIT  10000 /* ms */
#define PROMPT 1000  /* less than until somebody would look by himself */

/* Sanitizers make everything slower, the death of a process above all. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SOON 1000
#else
#define SOON 50
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
    print_message("replaced after %.1f ms in the middle, %.1f ms at most\n",
                  (double)took[TIMES / 2] / 1e6, (double)took[TIMES - 1] / 1e6);
    assert_true(took[TIMES / 2] < SOON * HF_MS);
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
    if (noticed) {
        assert_true(player_await(&b, &watching, PROMPT));
        assert_int_equal(look(&b, "x", next, &ask), 0);
        assert_false(is_granted(&ask));
        watch(&b, "x", &ask, &watching);
    }
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
    assert_int_equal(my_ticket(&ask)->slot, 1);
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
    assert_true(player_await(&b, &watching, PROMPT));
    assert_int_equal(look(&b, "sem", next, &ask), 0);
    assert_false(is_granted(&ask));
    watch(&b, "sem", &ask, &watching);
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

/* ---- Cloned ----------------------------------------------------------------------- */

/* Copies of the lifeline in another process keep the ticket. */
static void hold_with_guardian(struct child *parent)
{
    struct player player;
    struct ask    ask;
    int           fds[2];

    player_open(&player);
    must(player.store->impl->lifeline(player.store, fds, 2) == 2);
    enter(&player, "x", MUTEX, &ask);
    must(is_granted(&ask));
    int copies[2] = { dup(fds[0]), dup(fds[1]) };
    must(copies[0] >= 0 && copies[1] >= 0);
    pid_t pid = fork();
    must(pid >= 0);
    if (pid == 0) {
        child_hear(parent, -1);
        _exit(0);
    }
    child_say(parent);
    pause();
}

static void a_guardian_keeps_it(void **state)
{
    struct player player;
    struct child  child;
    struct ask    ask;

    (void)state;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    player_open(&player);
    child_start(&child, hold_with_guardian);
    assert_true(child_hear(&child, LIMIT));
    enter(&player, "x", MUTEX, &ask);
    kill(child.pid, SIGKILL);
    assert_int_equal(waitpid(child.pid, NULL, 0), child.pid);
    assert_false(wait_for_turn(&player, "x", &ask, 100));
    child_say(&child); /* now the guardian goes too */
    hf_time start = hf_now();
    assert_true(wait_for_turn(&player, "x", &ask, LIMIT));
    assert_true(hf_now() - start < HF_SEC); /* its FIFO said so, not a later look */
    close(child.talk);
    while (waitpid(-1, NULL, 0) > 0)
        continue;
    player_close(&player);
}

static void use_after_fork(struct child *parent)
{
    struct player player;
    struct ask    ask;

    player_open(&player);
    enter(&player, "x", MUTEX, &ask);
    pid_t pid = fork();
    must(pid >= 0);
    if (pid == 0) { /* the parent's store: closing it must do nothing at all */
        player_close(&player);
        _exit(0);
    }
    must(waitpid(pid, NULL, 0) == pid);
    struct ask view;
    must(look(&player, "x", ask.req.id, &view) == 0 && is_granted(&view));
    must(leave(&player, "x", ask.req.id) == 0);
    player_close(&player);
    child_hear(parent, -1);
}

static void a_child_cannot_hurt_it(void **state)
{
    struct child child;

    (void)state;
    child_start(&child, use_after_fork);
    child_end(&child);
}

/* ---- What the dead leave behind ------------------------------------------------------ */

static void litter_is_cleared(void **state)
{
    struct lab   *lab = *state;
    struct player player;
    struct ask    ask;
    char          path[256];

    player_open(&player);
    enter(&player, "x", MUTEX, &ask);
    player_close(&player);
    for (int i = 0; i < 3000; i++) {
        snprintf(path, sizeof path, "%s/%015x%x", lab_file(lab, "-wake"), i, i % 16);
        assert_int_equal(mkfifo(path, 0600), 0);
    }
    lab_sql(lab, "INSERT INTO ticket VALUES ('dead', 7, 7, 1, 1, 0, 1, 1, -1, '')");
    lab_sql(lab, "INSERT INTO watcher VALUES ('dead', 7, 1)");
    for (int i = 0; i < 200 && lab_count(lab_file(lab, "-wake")) > 0; i++) {
        player_open(&player);
        enter(&player, "y", MUTEX, &ask);
        player_close(&player);
    }
    assert_int_equal(lab_count(lab_file(lab, "-wake")), 0);
    assert_int_equal(lab_sql(lab, "SELECT count(*) FROM ticket"), 0);
    assert_int_equal(lab_sql(lab, "SELECT count(*) FROM watcher"), 0);
}

static void remove_wake_folder(const struct lab *lab)
{
    DIR           *dir = opendir(lab_file(lab, "-wake"));
    struct dirent *entry;

    assert_non_null(dir);
    while ((entry = readdir(dir)) != NULL)
        unlinkat(dirfd(dir), entry->d_name, 0);
    closedir(dir);
    assert_int_equal(rmdir(lab_file(lab, "-wake")), 0);
}

/* Without the FIFOs nobody can be told.  It takes longer, but it works. */
static void without_any_fifo(void **state)
{
    struct lab   *lab = *state;
    struct player a, b;
    struct ask    held, ask, watching;

    player_open(&a);
    player_open(&b);
    uint64_t id = enter(&a, "x", MUTEX, &held);
    enter(&b, "x", MUTEX, &ask);
    watch(&b, "x", &ask, &watching);
    remove_wake_folder(lab);
    assert_int_equal(leave(&a, "x", id), 0);
    assert_true(player_await(&b, &watching, LIMIT));
    uint64_t next = ask.req.id;
    assert_int_equal(look(&b, "x", next, &ask), 0);
    assert_true(is_granted(&ask));
    player_close(&a);
    player_close(&b);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, lab_setup, lab_teardown)
    const struct CMUnitTest tests[] = {
        TEST(killed_and_replaced),         TEST(a_waiter_dies_then_the_holder),
        TEST(released_over_the_dead),      TEST(released_over_the_dead_and_noticed),
        TEST(a_dead_holders_slot_is_free), TEST(killed_after_a_waiter_gave_up),
        TEST(stopped_holds_for_ever),      TEST(stopped_in_the_gate),
        TEST(a_guardian_keeps_it),         TEST(a_child_cannot_hurt_it),
        TEST(litter_is_cleared),           TEST(without_any_fifo),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
