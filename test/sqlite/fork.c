/* fork.c - processes of the file store and their children: copies of the lifeline keep
 * a place, nothing else does, and no child can harm its parent. */
#include "lib/temp_store.h"

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
#define LONG  (3 * HF_SEC) /* sanitizers are slow */

/* Copies of the lifeline in another process keep the place. */
static void hold_with_guardian(struct child *parent)
{
    struct player  player;
    struct request request;
    int            fds[2];

    player_open(&player);
    must(player.store->impl->lifeline(player.store, fds, 2) == 2);
    enter(&player, "x", MUTEX, &request);
    must(is_granted(&request));
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

static void guardian_keeps_the_place(void **state)
{
    struct player  player;
    struct child   child;
    struct request request;

    (void)state;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    player_open(&player);
    child_start(&child, hold_with_guardian);
    assert_true(child_hear(&child, LIMIT));
    enter(&player, "x", MUTEX, &request);
    kill(child.pid, SIGKILL);
    assert_int_equal(waitpid(child.pid, NULL, 0), child.pid);
    assert_false(wait_for_turn(&player, "x", &request, 100));
    child_say(&child); /* now the guardian ends, too */
    hf_time start = hf_now();
    assert_true(wait_for_turn(&player, "x", &request, LIMIT));
    assert_true(hf_now() - start < 1800 * HF_MS); /* by its FIFO, not by a later check */
    close(child.talk);
    while (waitpid(-1, NULL, 0) > 0)
        continue;
    player_close(&player);
}

static void use_after_fork(struct child *parent)
{
    struct player  player;
    struct request request;

    player_open(&player);
    enter(&player, "x", MUTEX, &request);
    pid_t pid = fork();
    must(pid >= 0);
    if (pid == 0) { /* closing the parent's store must have no effect */
        player_close(&player);
        _exit(0);
    }
    must(waitpid(pid, NULL, 0) == pid);
    struct request view;
    must(look(&player, "x", request.req.id, &view) == 0 && is_granted(&view));
    must(leave(&player, "x", request.req.id) == 0);
    player_close(&player);
    child_hear(parent, -1);
}

static void forked_child_cannot_harm_its_parent(void **state)
{
    struct child child;

    (void)state;
    child_start(&child, use_after_fork);
    child_end(&child);
}

/* ---- Children of a fork that comes while a session starts or ends ------------ */

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

/* Would any of our descriptors keep a lock of a dead parent alive?  A descriptor that
 * can only write to a FIFO does not. */
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

static void forked_children_get_no_lifeline(void **state)
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
#define TEST(name) cmocka_unit_test_setup_teardown(name, temp_setup, temp_teardown)
    const struct CMUnitTest tests[] = {
        TEST(guardian_keeps_the_place),
        TEST(forked_child_cannot_harm_its_parent),
        TEST(forked_children_get_no_lifeline),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
