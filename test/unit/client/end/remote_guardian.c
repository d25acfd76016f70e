/* remote_guardian.c - HF_GUARDIAN for stores with a server, without any server: hf_open()
 * starts the guardian, hf_close() ends it. */
#include "lib/guardians.h"
#include "lib/recipe.h"
#include "lib/setuid_copy.h"

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

/* Nobody listens there: opening does not wait for a server. */
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
    fail_msg("no store with a server in \"%s\"", hf_stores());
    return NULL;
}

static int open_with(const char *url, const char *guardian, struct hf_client **ret)
{
    struct hf_options options = HF_OPTIONS_INIT;

    options.flags = HF_GUARDIAN;
    options.guardian = guardian;
    options.error = error;
    options.error_size = sizeof error;
    return hf_open(url, &options, ret);
}

static struct hf_client *open_one(void)
{
    struct hf_client *client = NULL;

    int r = open_with(a_server(), guardians_program(), &client);
    if (r != 0)
        fail_msg("%s: %s", hf_errname(r), error);
    return client;
}

/* ---- A guardian ---------------------------------------------------------------- */

static void test_each_client_has_a_guardian_until_it_is_closed(void **state)
{
    (void)state;
    struct hf_client *one = open_one();
    assert_int_equal(guardians_count(), 1);
    struct hf_client *two = open_one();
    assert_int_equal(guardians_count(), 2);
    hf_close(one);
    guardians_await(1);
    hf_close(two);
    guardians_await(0);
}

static void test_the_program_gets_no_sigchld(void **state)
{
    (void)state;
    deaths = 0;
    hf_close(open_one());
    guardians_await(0);
    errno = 0;
    assert_int_equal(wait(NULL), -1);
    assert_int_equal(errno, ECHILD);
    assert_int_equal(deaths, 0);
}

/* A pipe of the program would stay open otherwise. */
static void test_the_guardian_inherits_no_descriptor(void **state)
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
    guardians_await(0);
}

/* Signals of the terminal, and those that end most programs. */
static void test_signals_do_not_end_the_guardian(void **state)
{
    (void)state;
    struct hf_client *client = open_one();
    pid_t             pid = guardians_one();
    assert_int_equal(getsid(pid), pid);
    kill(pid, SIGTERM);
    kill(pid, SIGINT);
    kill(pid, SIGHUP);
    struct hf_client *another =
        open_one(); /* the first guardian lived at least until here */
    assert_int_equal(guardians_count(), 2);
    hf_close(another);
    hf_close(client);
    guardians_await(0);
}

/* No SIGPIPE, no wait, no error. */
static void test_a_killed_guardian_does_no_harm(void **state)
{
    (void)state;
    struct hf_client *client = open_one();
    kill(guardians_one(), SIGKILL);
    guardians_await(0);
    hf_close(client);
}

static void test_hf_close_in_a_forked_child_does_not_end_the_guardian(void **state)
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
    hf_close(open_one()); /* gives the guardian time to notice */
    guardians_await(1);
    hf_close(client);
    guardians_await(0);
}

/* A program opens a client, and becomes a daemon: the guardian must not stay for ever. */
static void test_a_child_that_closed_the_client_does_not_keep_the_guardian(void **state)
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
    guardians_await(0);
    close(stay[1]);
}

/* ---- No guardian --------------------------------------------------------------- */

static void test_stores_without_a_server_need_no_guardian(void **state)
{
    struct hf_client *client = NULL;

    (void)state;
    assert_int_equal(open_with("memory:guardian", NULL, &client), 0);
    assert_int_equal(guardians_count(), 0);
    hf_close(client);
    assert_int_equal(open_with(NULL, NULL, &client), 0); /* the default: a file */
    assert_int_equal(guardians_count(), 0);
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

static void test_a_wrong_path_is_named(void **state)
{
    (void)state;
    fails("/nowhere/holdfast", HF_ENOTFOUND, "No such file");
    fails("/etc/passwd", HF_EDENIED, "Permission denied");
    fails("/etc/passwd/holdfast", HF_ENOTFOUND, "Not a directory");
    fails("/bin/true", HF_EUNSUPPORTED, "ended at once: it is not holdfast");
}

/* It answers something else, and would go on running. */
static void test_another_program_is_refused_and_killed(void **state)
{
    char path[GUARDIANS_PATH_MAX];

    (void)state;
    guardians_script("#!/bin/sh\necho other >&0\nexec tail -f /dev/null guardian\n",
                     path);
    fails(path, HF_EUNSUPPORTED, "does not answer like a guardian");
    guardians_await(0);
    unlink(path);
}

/* ---- More rights than the caller --------------------------------------------------- */

#define SAFE 42

static int open_as_another(const char *guardian)
{
    struct hf_client *client = NULL;

    int r = open_with(a_server(), guardian, &client);
    return r == HF_EDENIED && strstr(error, "more rights") != NULL ? SAFE : 1;
}

static void test_a_set_user_id_program_is_refused(void **state)
{
    (void)state;
    int code = setuid_copy_run(guardians_program());
    if (code < 0)
        skip();
    assert_int_equal(code, SAFE);
}

static void test_a_relative_path_is_refused(void **state)
{
    struct hf_client *client = NULL;

    (void)state;
    assert_int_equal(open_with("memory:guardian", "holdfast", &client), HF_EINVAL);
    assert_non_null(strstr(error, "not an absolute path"));
}

static void test_a_path_without_the_flag_is_refused(void **state)
{
    struct hf_options options = HF_OPTIONS_INIT;
    struct hf_client *client = NULL;

    (void)state;
    options.guardian = guardians_program();
    options.error = error;
    options.error_size = sizeof error;
    assert_int_equal(hf_open("memory:guardian", &options, &client), HF_EINVAL);
    assert_non_null(strstr(error, "HF_GUARDIAN"));
}

/* PATH is not searched. */
static void test_the_default_is_the_installed_program(void **state)
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
        options.flags = HF_GUARDIAN | HF_NO_KEEPER;
        options.guardian = arg;
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

static void test_threads_open_clients_and_fork(void **state)
{
    pthread_t thread[THREADS], forker;

    (void)state;
    char *path = strdup(guardians_program());
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
    guardians_await(0);
    assert_int_equal(wait(NULL), -1);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return open_as_another(argv[1]);

    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_client_has_a_guardian_until_it_is_closed),
        cmocka_unit_test(test_the_program_gets_no_sigchld),
        cmocka_unit_test(test_the_guardian_inherits_no_descriptor),
        cmocka_unit_test(test_signals_do_not_end_the_guardian),
        cmocka_unit_test(test_a_killed_guardian_does_no_harm),
        cmocka_unit_test(test_hf_close_in_a_forked_child_does_not_end_the_guardian),
        cmocka_unit_test(test_a_child_that_closed_the_client_does_not_keep_the_guardian),
        cmocka_unit_test(test_stores_without_a_server_need_no_guardian),
        cmocka_unit_test(test_a_wrong_path_is_named),
        cmocka_unit_test(test_another_program_is_refused_and_killed),
        cmocka_unit_test(test_a_set_user_id_program_is_refused),
        cmocka_unit_test(test_a_relative_path_is_refused),
        cmocka_unit_test(test_a_path_without_the_flag_is_refused),
        cmocka_unit_test(test_the_default_is_the_installed_program),
        cmocka_unit_test(test_threads_open_clients_and_fork),
    };

    guardians_start();
    signal(SIGCHLD, on_death);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
