/* remote_warden_word.c - what a warden hears from a program that dies early, and that never
 * listened: as a warden that took another's place.
 *
 * The server of the will is this test: who executes it comes here.
 */
/* one thread */
#include "base/spawn.h"
#include "client/warden.h"
#include "client/will.h"
#include "lib/recipe.h"
#include "lib/wardens.h"

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
static uint8_t will[256];
static size_t  will_size;

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
    struct hf_will of = { .url = url,
                          .url_size = strlen(url),
                          .ttl_ms = 15000,
                          .own = (const uint8_t *)"0123456789abcdef",
                          .own_size = 16 };
    will_size = hf_will_write(&of, will, sizeof will);
}

static void say(int link, enum hf_warden_kind kind)
{
    struct hf_warden_word word = { .kind = kind,
                                   .lease_ms = 2 * LIMIT_MS,
                                   .scheme = "redis" };
    struct iovec          parts[] = { { &word, sizeof word }, { will, will_size } };

    if (writev(link, parts, kind == HF_WARDEN_A_WILL ? 2 : 1) < 0)
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
    say(link, HF_WARDEN_DISMISSED);
}

static void dismiss_after_hello(int link)
{
    await_hello(link);
    say(link, HF_WARDEN_DISMISSED);
}

/* To all others, a process that nobody may look into is root's. */
static void see_whose_it_is(int link)
{
    char        path[64];
    struct stat of;

    await_hello(link);
    snprintf(path, sizeof path, "/proc/%ld/mem", (long)wardens_one());
    if (stat(path, &of) < 0 || of.st_uid != 0)
        _exit(4);
    say(link, HF_WARDEN_DISMISSED);
}

/* A program with a warden that knows its will; it ends like that. */
static void run_program(void (*end)(int link))
{
    int status = 0;

    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        char *argv[] = { "holdfast", "warden", NULL };
        int   ends[2];
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
            _exit(1);
        say(ends[0], HF_WARDEN_A_WILL);
        int pidfd;
        int error = hf_spawn_apart(wardens_program(), argv, environ, ends[1], &pidfd);
        close(ends[1]);
        if (error == 0)
            end(ends[0]);
        _exit(error);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* Somebody comes to execute the will.  That is enough: there is no server. */
static void is_executed(void)
{
    struct pollfd on = { .fd = server, .events = POLLIN };

    assert_int_equal(poll(&on, 1, LIMIT_MS), 1);
    kill(wardens_one(), SIGKILL);
    wardens_await(0);
    for (int fd; (fd = accept(server, NULL, NULL)) >= 0;)
        close(fd);
}

static void test_death_is_heard_whenever_it_comes(void **state)
{
    (void)state;
    run_program(die_before_hello);
    is_executed();
    run_program(die_after_hello);
    is_executed();
}

static void test_dismissal_is_heard_whenever_it_comes(void **state)
{
    (void)state;
    run_program(dismiss_at_once);
    wardens_await(0);
    run_program(dismiss_after_hello);
    wardens_await(0);
    assert_int_equal(accept(server, NULL, NULL), -1);
}

/* What it knows is nobody's business. */
static void test_nobody_may_look_into_it(void **state)
{
    (void)state;
    if (geteuid() == 0)
        skip(); /* all that we start is root's anyway */
    run_program(see_whose_it_is);
    wardens_await(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_death_is_heard_whenever_it_comes),
        cmocka_unit_test(test_dismissal_is_heard_whenever_it_comes),
        cmocka_unit_test(test_nobody_may_look_into_it),
    };

    if (strstr(hf_stores(), "redis") == NULL) {
        puts("# SKIP no store for Redis");
        return 77;
    }
    wardens_start();
    listen_here();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
