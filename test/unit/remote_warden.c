/* remote_warden.c - HF_WARDEN without any server: what hf_open() says and starts, and what
 * hf_close() leaves. */
#include "lib/recipe.h"
#include "lib/rights.h"
#include "lib/wardens.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static atomic_int deaths;
static char       error[256];

static void on_death(int signal)
{
    (void)signal;
    deaths++;
}

/* Nobody is there: opening does not wait for a server. */
static const char *a_server(void)
{
    static const char *const urls[] = { "zk://127.0.0.1:1", "redis://127.0.0.1:1",
                                        "postgres://x@127.0.0.1:1/x" };
    char                     scheme[16];

    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        snprintf(scheme, sizeof scheme, "%.*s ", (int)strcspn(urls[i], ":"), urls[i]);
        char stores[256];
        snprintf(stores, sizeof stores, "%s ", hf_stores());
        if (strstr(stores, scheme) != NULL)
            return urls[i];
    }
    fail_msg("no server's store in \"%s\"", hf_stores());
    return NULL;
}

static int open_with(const char *url, const char *warden, struct hf_client **ret)
{
    struct hf_options options = HF_OPTIONS_INIT;

    options.flags = HF_WARDEN;
    options.warden = warden;
    options.error = error;
    options.error_size = sizeof error;
    return hf_open(url, &options, ret);
}

static struct hf_client *open_one(void)
{
    struct hf_client *client = NULL;

    int r = open_with(a_server(), wardens_program(), &client);
    if (r != 0)
        fail_msg("%s: %s", hf_errname(r), error);
    return client;
}

/* ---- One ------------------------------------------------------------------------ */

static void test_each_client_has_one_until_it_is_closed(void **state)
{
    (void)state;
    struct hf_client *one = open_one();
    assert_int_equal(wardens_count(), 1);
    struct hf_client *two = open_one();
    assert_int_equal(wardens_count(), 2);
    hf_close(one);
    wardens_await(1);
    hf_close(two);
    wardens_await(0);
}

static void test_the_program_does_not_notice(void **state)
{
    (void)state;
    deaths = 0;
    hf_close(open_one());
    wardens_await(0);
    errno = 0;
    assert_int_equal(wait(NULL), -1);
    assert_int_equal(errno, ECHILD);
    assert_int_equal(deaths, 0);
}

/* It has no descriptor but its own: a pipe of the program would stay open. */
static void test_it_keeps_nothing_open(void **state)
{
    int pipes[2];

    (void)state;
    assert_int_equal(pipe(pipes), 0); /* exec() does not close these */
    struct hf_client *client = open_one();
    close(pipes[1]);
    struct pollfd on = { .fd = pipes[0], .events = POLLIN };
    assert_int_equal(poll(&on, 1, 0), 1);
    assert_true(on.revents & POLLHUP);
    close(pipes[0]);
    hf_close(client);
    wardens_await(0);
}

/* Signals of the terminal, and those that end most programs, do not reach it. */
static void test_signals_do_not_end_it(void **state)
{
    (void)state;
    struct hf_client *client = open_one();
    pid_t             pid = wardens_one();
    assert_int_equal(getsid(pid), pid);
    kill(pid, SIGTERM);
    kill(pid, SIGINT);
    kill(pid, SIGHUP);
    struct hf_client *another = open_one(); /* so long it lived on */
    assert_int_equal(wardens_count(), 2);
    hf_close(another);
    hf_close(client);
    wardens_await(0);
}

/* Killed: no SIGPIPE, no wait, nothing to see. */
static void test_one_that_is_killed_is_no_harm(void **state)
{
    (void)state;
    struct hf_client *client = open_one();
    kill(wardens_one(), SIGKILL);
    wardens_await(0);
    hf_close(client);
}

/* A child of ours has no business with it. */
static void test_a_child_does_not_dismiss_it(void **state)
{
    (void)state;
    struct hf_client *client = open_one();
    pid_t             pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        hf_close(client);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    hf_close(open_one()); /* so long it had to hear */
    wardens_await(1);
    hf_close(client);
    wardens_await(0);
}

/* A program opens, and becomes a daemon: its old client's warden must not stay for life. */
static void test_a_child_that_closes_does_not_keep_it(void **state)
{
    int stay[2];

    (void)state;
    assert_int_equal(pipe(stay), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct hf_client *client = open_one();
        if (fork() == 0) {
            char byte;
            close(stay[1]);
            hf_close(client);
            _exit((int)read(stay[0], &byte, 1));
        }
        _exit(0);
    }
    close(stay[0]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    wardens_await(0);
    close(stay[1]);
}

/* ---- None ------------------------------------------------------------------------ */

static void test_stores_whose_sessions_die_with_us_need_none(void **state)
{
    struct hf_client *client = NULL;

    (void)state;
    assert_int_equal(open_with("memory:warden", NULL, &client), 0);
    assert_int_equal(wardens_count(), 0);
    hf_close(client);
    assert_int_equal(open_with(NULL, NULL, &client), 0); /* the default: a file */
    assert_int_equal(wardens_count(), 0);
    hf_close(client);
}

/* ---- Mistakes ---------------------------------------------------------------------- */

static void fails(const char *path, int code, const char *text)
{
    struct hf_client *client = NULL;

    error[0] = '\0';
    assert_int_equal(open_with(a_server(), path, &client), code);
    assert_null(client);
    if (strstr(error, text) == NULL || strstr(error, path) == NULL)
        fail_msg("\"%s\" has no \"%s\" or no path", error, text);
}

static void test_a_path_that_is_wrong_is_named(void **state)
{
    (void)state;
    fails("/nowhere/holdfast", HF_ENOTFOUND, "No such file");
    fails("/etc/passwd", HF_EDENIED, "Permission denied");
    fails("/etc/passwd/holdfast", HF_ENOTFOUND, "Not a directory");
    fails("/bin/true", HF_EUNSUPPORTED, "ended at once: it is not holdfast");
}

/* One that says something else, and would stay. */
static void test_a_stranger_does_not_stay(void **state)
{
    char path[WARDENS_PATH_MAX];

    (void)state;
    wardens_script("#!/bin/sh\necho other >&0\nexec tail -f /dev/null warden\n", path);
    fails(path, HF_EUNSUPPORTED, "says what no warden says");
    wardens_await(0);
    unlink(path);
}

/* ---- More rights than the caller --------------------------------------------------- */

#define SAFE 42

static int open_as_another(const char *warden)
{
    struct hf_client *client = NULL;

    int r = open_with(a_server(), warden, &client);
    return r == HF_EDENIED && strstr(error, "more rights") != NULL ? SAFE : 1;
}

static void test_a_program_with_foreign_rights_is_refused(void **state)
{
    (void)state;
    int code = rights_run(wardens_program());
    if (code < 0)
        skip();
    assert_int_equal(code, SAFE);
}

static void test_a_path_that_is_not_absolute(void **state)
{
    struct hf_client *client = NULL;

    (void)state;
    assert_int_equal(open_with("memory:warden", "holdfast", &client), HF_EINVAL);
    assert_non_null(strstr(error, "not an absolute path"));
}

static void test_a_path_without_the_flag(void **state)
{
    struct hf_options options = HF_OPTIONS_INIT;
    struct hf_client *client = NULL;

    (void)state;
    options.warden = wardens_program();
    options.error = error;
    options.error_size = sizeof error;
    assert_int_equal(hf_open("memory:warden", &options, &client), HF_EINVAL);
    assert_non_null(strstr(error, "HF_WARDEN"));
}

/* PATH is not asked, whatever is there. */
static void test_without_a_path_it_is_the_installed_one(void **state)
{
    struct hf_client *client = NULL;

    (void)state;
    int r = open_with(a_server(), NULL, &client);
    if (r == 0)
        hf_close(client); /* it is installed here */
    else
        assert_non_null(strstr(error, "/bin/holdfast"));
}

/* ---- Many ------------------------------------------------------------------------- */

#define THREADS 3
#define ROUNDS  4

static atomic_int  wrong;
static atomic_bool ending;

static void *open_often(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        struct hf_options options = HF_OPTIONS_INIT;
        struct hf_client *client = NULL;
        options.flags = HF_WARDEN | HF_NO_KEEPER;
        options.warden = arg;
        if (hf_open(a_server(), &options, &client) != 0)
            wrong++;
        hf_close(client);
    }
    return NULL;
}

static void *fork_often(void *arg)
{
    while (!ending) {
        int   status = 0;
        pid_t pid = fork();
        if (pid == 0)
            _exit(7);
        if (pid < 0 || waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != 7)
            wrong++;
    }
    return arg;
}

static void test_threads_that_open_and_fork(void **state)
{
    pthread_t thread[THREADS], forker;

    (void)state;
    char *path = strdup(wardens_program());
    ending = false;
    assert_int_equal(pthread_create(&forker, NULL, fork_often, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, open_often, path), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    ending = true;
    pthread_join(forker, NULL);
    free(path);
    assert_int_equal(wrong, 0);
    wardens_await(0);
    assert_int_equal(wait(NULL), -1);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return open_as_another(argv[1]);

    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_client_has_one_until_it_is_closed),
        cmocka_unit_test(test_the_program_does_not_notice),
        cmocka_unit_test(test_it_keeps_nothing_open),
        cmocka_unit_test(test_signals_do_not_end_it),
        cmocka_unit_test(test_one_that_is_killed_is_no_harm),
        cmocka_unit_test(test_a_child_does_not_dismiss_it),
        cmocka_unit_test(test_a_child_that_closes_does_not_keep_it),
        cmocka_unit_test(test_stores_whose_sessions_die_with_us_need_none),
        cmocka_unit_test(test_a_path_that_is_wrong_is_named),
        cmocka_unit_test(test_a_stranger_does_not_stay),
        cmocka_unit_test(test_a_program_with_foreign_rights_is_refused),
        cmocka_unit_test(test_a_path_that_is_not_absolute),
        cmocka_unit_test(test_a_path_without_the_flag),
        cmocka_unit_test(test_without_a_path_it_is_the_installed_one),
        cmocka_unit_test(test_threads_that_open_and_fork),
    };

    wardens_start();
    signal(SIGCHLD, on_death);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
