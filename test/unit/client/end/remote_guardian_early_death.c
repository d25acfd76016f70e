/* remote_guardian_early_death.c - a guardian notices that its program has died or
 * dismissed it, even before the guardian was ready.
 *
 * The session key names this test as the server: a guardian that ends the session
 * connects here.
 */
/* one thread */
#include "base/spawn.h"
#include "client/end/end.h"
#include "lib/guardians.h"
#include "lib/recipe.h"

#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIMIT_MS 20000

static int     server;
static uint8_t key[256];
static size_t  key_size;

static void listen_here(void)
{
    struct sockaddr_in at = { .sin_family = AF_INET,
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t          size = sizeof at;
    char               url[64];

    server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (bind(server, (struct sockaddr *)&at, size) < 0 || listen(server, 8) < 0 ||
        getsockname(server, (struct sockaddr *)&at, &size) < 0)
        abort();
    snprintf(url, sizeof url, "redis://127.0.0.1:%d", ntohs(at.sin_port));
    struct hf_session_key of = { .url = url,
                                 .url_size = strlen(url),
                                 .ttl_ms = 15000,
                                 .own = (const uint8_t *)"0123456789abcdef",
                                 .own_size = 16 };
    key_size = hf_session_key_write(&of, key, sizeof key);
}

static void say(int link, enum hf_guardian_kind kind)
{
    struct hf_guardian_word word = { .kind = kind,
                                     .lease_ms = 2 * LIMIT_MS,
                                     .scheme = "redis" };
    struct iovec            parts[] = { { &word, sizeof word }, { key, key_size } };

    if (writev(link, parts, kind == HF_GUARDIAN_KEY ? 2 : 1) < 0)
        _exit(2);
}

static void await_hello(int link)
{
    struct pollfd on = { .fd = link, .events = POLLIN };

    if (poll(&on, 1, LIMIT_MS) != 1)
        _exit(3);
}

/* ---- Programs ------------------------------------------------------------------- */

static void die_before_hello(int link)
{
    (void)link;
}

static void die_after_hello(int link)
{
    await_hello(link);
}

static void dismiss_at_once(int link)
{
    say(link, HF_GUARDIAN_DISMISSED);
}

static void dismiss_after_hello(int link)
{
    await_hello(link);
    say(link, HF_GUARDIAN_DISMISSED);
}

/* The files in /proc of a process that is not dumpable belong to root. */
static void see_whose_it_is(int link)
{
    char        path[64];
    struct stat of;

    await_hello(link);
    snprintf(path, sizeof path, "/proc/%ld/mem", (long)guardians_one());
    if (stat(path, &of) < 0 || of.st_uid != 0)
        _exit(4);
    say(link, HF_GUARDIAN_DISMISSED);
}

/* A program with a guardian that has its session key; it ends in this way. */
static void run_program(void (*end)(int link))
{
    int status = 0;

    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        char *argv[] = { "holdfast", "guardian", NULL };
        int   ends[2];
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
            _exit(1);
        say(ends[0], HF_GUARDIAN_KEY);
        int pidfd;
        int error = hf_spawn_apart(guardians_program(), argv, environ, ends[1], &pidfd);
        close(ends[1]);
        if (error == 0)
            end(ends[0]);
        _exit(error);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* Wait for the guardian to connect.  That is enough: there is no server. */
static void is_executed(void)
{
    struct pollfd on = { .fd = server, .events = POLLIN };

    assert_int_equal(poll(&on, 1, LIMIT_MS), 1);
    kill(guardians_one(), SIGKILL);
    guardians_await(0);
    for (int fd; (fd = accept(server, NULL, NULL)) >= 0;)
        close(fd);
}

static void test_the_guardian_notices_the_death_at_any_moment(void **state)
{
    (void)state;
    run_program(die_before_hello);
    is_executed();
    run_program(die_after_hello);
    is_executed();
}

static void test_the_guardian_notices_its_dismissal_at_any_moment(void **state)
{
    (void)state;
    run_program(dismiss_at_once);
    guardians_await(0);
    run_program(dismiss_after_hello);
    guardians_await(0);
    assert_int_equal(accept(server, NULL, NULL), -1);
}

/* It has the session key in its memory. */
static void test_other_processes_of_the_user_cannot_read_the_guardian(void **state)
{
    (void)state;
    if (geteuid() == 0)
        skip(); /* root can read everything anyway */
    run_program(see_whose_it_is);
    guardians_await(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_guardian_notices_the_death_at_any_moment),
        cmocka_unit_test(test_the_guardian_notices_its_dismissal_at_any_moment),
        cmocka_unit_test(test_other_processes_of_the_user_cannot_read_the_guardian),
    };

    if (strstr(hf_stores(), "redis") == NULL) {
        puts("# SKIP no store for Redis");
        return 77;
    }
    guardians_start();
    listen_here();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
