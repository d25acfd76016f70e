/* spawn.c - a helper program is started without side effects on the program that starts
 * it. */
#include "base/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define LIMIT_MS 20000

static atomic_int deaths, forks;

static void on_death(int signal)
{
    (void)signal;
    deaths++;
}

static void on_fork(void)
{
    forks++;
}

/* Run a shell script whose stdin is a socket; `ret` is what it writes there. */
static int run_shell(char *script, char *ret, size_t size)
{
    char         *argv[] = { "sh", "-c", script, NULL };
    int           ends[2];
    struct pollfd on = { .events = POLLIN };
    ssize_t       n = 0;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return errno;
    int pidfd = -1;
    int error = hf_spawn_apart("/bin/sh", argv, environ, ends[1], &pidfd);
    close(ends[1]);
    close(pidfd);
    on.fd = ends[0];
    if (error == 0 && poll(&on, 1, LIMIT_MS) == 1)
        n = recv(ends[0], ret, size - 1, 0);
    ret[n > 0 ? n : 0] = '\0';
    close(ends[0]);
    return error;
}

static void test_the_parent_gets_no_sigchld_and_no_fork_handler_runs(void **state)
{
    char text[64];

    (void)state;
    deaths = forks = 0;
    assert_int_equal(run_shell("echo here >&0", text, sizeof text), 0);
    assert_string_equal(text, "here\n");
    errno = 0;
    assert_int_equal(wait(NULL), -1);
    assert_int_equal(errno, ECHILD);
    assert_int_equal(waitpid(-1, NULL, __WALL | WNOHANG), -1);
    assert_int_equal(deaths, 0);
    assert_int_equal(forks, 0);
}

static void test_it_works_with_sigchld_ignored(void **state)
{
    char text[64];

    (void)state;
    signal(SIGCHLD, SIG_IGN);
    assert_int_equal(run_shell("echo here >&0", text, sizeof text), 0);
    assert_string_equal(text, "here\n");
    signal(SIGCHLD, on_death);
}

static void test_the_program_has_its_own_session_and_blocked_signals(void **state)
{
    char text[256], own[64];

    (void)state;
    assert_int_equal(run_shell("set -- $(cat /proc/$$/stat); echo $1 $5 $6 >&0", text,
                               sizeof text),
                     0);
    int pid = atoi(text);
    assert_true(pid > 0 && pid != getpid());
    snprintf(own, sizeof own, "%d %d %d\n", pid, pid, pid);
    assert_string_equal(text, own);

    assert_int_equal(run_shell("echo $(sed -n s/SigBlk:.//p /proc/$$/status) >&0", text,
                               sizeof text),
                     0);
    assert_int_equal(strtoull(text, NULL, 16) & 0x7ffbfeff, 0x7ffbfeff);
    sigset_t mask;
    assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &mask), 0);
    assert_int_equal(sigismember(&mask, SIGTERM), 0);
}

static void test_output_of_the_program_is_discarded(void **state)
{
    char text[256];

    (void)state;
    assert_int_equal(run_shell("echo $(readlink /proc/$$/fd/1 /proc/$$/fd/2) >&0", text,
                               sizeof text),
                     0);
    assert_string_equal(text, "/dev/null /dev/null\n");
}

/* As of a daemon. */
static void test_a_parent_with_closed_stdio(void **state)
{
    char text[256];
    int  kept[3];

    (void)state;
    for (int fd = 0; fd < 3; fd++) {
        kept[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 10);
        close(fd);
    }
    int error =
        run_shell("echo $(readlink /proc/$$/fd/1 /proc/$$/fd/2) >&0", text, sizeof text);
    for (int fd = 0; fd < 3; fd++) {
        dup2(kept[fd], fd);
        close(kept[fd]);
    }
    assert_int_equal(error, 0);
    assert_string_equal(text, "/dev/null /dev/null\n");
}

/* This program as the one that is started: print where its stderr goes. */
static int tell_stderr(void)
{
    char    text[64];
    ssize_t n = readlink("/proc/self/fd/2", text, sizeof text);

    return n > 0 && write(STDIN_FILENO, text, (size_t)n) == n ? 0 : 1;
}

/* The helper must not inherit the stderr of the parent instead of /dev/null. */
static void test_a_parent_without_free_descriptors(void **state)
{
    char         *argv[] = { "spawn", "tell", NULL };
    char          text[64] = "";
    int           ends[2], pidfd = -1;
    struct rlimit before;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    int           last = fcntl(ends[1], F_DUPFD_CLOEXEC, 0); /* for the pidfd */
    struct rlimit few = { .rlim_cur = (rlim_t)last + 1, .rlim_max = before.rlim_max };
    close(last);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    int error = hf_spawn_apart("/proc/self/exe", argv, environ, ends[1], &pidfd);
    setrlimit(RLIMIT_NOFILE, &before);
    close(ends[1]);
    close(pidfd);
    assert_int_equal(error, 0);
    struct pollfd on = { .fd = ends[0], .events = POLLIN };
    assert_int_equal(poll(&on, 1, LIMIT_MS), 1);
    assert_true(recv(ends[0], text, sizeof text - 1, 0) > 0);
    close(ends[0]);
    assert_string_equal(text, "/dev/null");
}

static int spawn_in_vain(const char *path)
{
    char *argv[] = { "none", NULL };
    int   pidfd = -1;

    int error = hf_spawn_apart(path, argv, environ, 0, &pidfd);
    assert_int_equal(pidfd, -1);
    return error;
}

/* A subreaper must not be left with a zombie. */
static void test_a_file_that_cannot_be_executed(void **state)
{
    (void)state;
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    assert_int_equal(spawn_in_vain("/nowhere/none"), ENOENT);
    assert_int_equal(spawn_in_vain("/etc/passwd"), EACCES);
    assert_int_equal(spawn_in_vain("/etc/passwd/none"), ENOTDIR);
    assert_int_equal(waitpid(-1, NULL, __WALL | WNOHANG), -1);
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0), 0);
}

/* ---- Many at the same time --------------------------------------------------------- */

#define THREADS 4
#define ROUNDS  25

static atomic_int  wrong;
static atomic_bool ending;

static void *spawn_often(void *arg)
{
    char text[64];

    for (int i = 0; i < ROUNDS; i++)
        if (run_shell("echo here >&0", text, sizeof text) != 0 ||
            strcmp(text, "here\n") != 0)
            wrong++;
    return arg;
}

/* Children of the program itself: it must be able to wait for every one. */
static void *fork_often(void *arg)
{
    int *count = arg;

    while (!ending) {
        pid_t pid = fork();
        if (pid == 0)
            _exit(7);
        int status = 0;
        if (pid < 0 || waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != 7)
            wrong++;
        ++*count;
    }
    return arg;
}

static void test_other_threads_fork_meanwhile(void **state)
{
    pthread_t thread[THREADS], forker;
    int       count = 0;

    (void)state;
    wrong = 0;
    assert_int_equal(pthread_create(&forker, NULL, fork_often, &count), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, spawn_often, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    ending = true;
    pthread_join(forker, NULL);
    assert_int_equal(wrong, 0);
    assert_true(count > 0);
    assert_int_equal(wait(NULL), -1);
}

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1)
        return tell_stderr();

    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_parent_gets_no_sigchld_and_no_fork_handler_runs),
        cmocka_unit_test(test_it_works_with_sigchld_ignored),
        cmocka_unit_test(test_the_program_has_its_own_session_and_blocked_signals),
        cmocka_unit_test(test_output_of_the_program_is_discarded),
        cmocka_unit_test(test_a_parent_with_closed_stdio),
        cmocka_unit_test(test_a_parent_without_free_descriptors),
        cmocka_unit_test(test_a_file_that_cannot_be_executed),
        cmocka_unit_test(test_other_threads_fork_meanwhile),
    };

    signal(SIGCHLD, on_death);
    pthread_atfork(on_fork, NULL, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
