/* sqlite_fork.c - processes of the SQLite store and their children: copies of the
 * lifeline keep a ticket, nothing else does, and no child can hurt its parent. */
#include "lib/lab.h"

#include "holdfast.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIMIT 10000 /* ms */
#define FORKS 1000
#define LONG  (3 * HF_SEC) /* they take long under a sanitizer */

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
    assert_true(hf_now() - start < 1800 * HF_MS); /* its FIFO said so, not a later look */
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

/* ---- Children of a fork that comes while a session starts or ends --------------- */

static atomic_bool enough;

static void *come_and_go(void *arg)
{
    struct player player;
    int           fds[2];

    (void)arg;
    while (!atomic_load(&enough)) {
        player_open(&player);
        must(player.store->impl->lifeline(player.store, fds, 2) == 2);
        player_close(&player);
    }
    return NULL;
}

/* Is any of our descriptors one that a dead parent's lock would live by?  Who can only
 * write to a FIFO keeps nobody alive. */
static bool has_lifeline(void)
{
    char path[64], to[512];

    for (int fd = 3; fd < 64; fd++) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        ssize_t n = readlink(path, to, sizeof to - 1);
        to[n > 0 ? n : 0] = '\0';
        bool kept = strstr(to, "-live") != NULL || strstr(to, "-wake/") != NULL;
        if (kept && (fcntl(fd, F_GETFL) & O_ACCMODE) != O_WRONLY)
            return true;
    }
    return false;
}

static void no_child_has_a_copy(void **state)
{
    pthread_t thread;
    int       status, copies = 0;

    (void)state;
    atomic_store(&enough, false);
    assert_int_equal(pthread_create(&thread, NULL, come_and_go, NULL), 0);
    hf_time end = hf_now() + LONG;
    for (int i = 0; i < FORKS && (i == 0 || hf_now() < end); i++) {
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0)
            _exit(has_lifeline());
        assert_int_equal(waitpid(pid, &status, 0), pid);
        copies += status != 0;
    }
    atomic_store(&enough, true);
    pthread_join(thread, NULL);
    assert_int_equal(copies, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, lab_setup, lab_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_guardian_keeps_it),
        TEST(a_child_cannot_hurt_it),
        TEST(no_child_has_a_copy),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
