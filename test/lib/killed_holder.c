/* killed_holder.c - see killed_holder.h. */
#include "lib/killed_holder.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define LEASE "150" /* ms */

bool recipe_is_local(void)
{
    return strncmp(recipe_url(), "memory:", 7) == 0;
}

pid_t recipe_fork(int (*body)(const char *name, int mouth), const char *name, int *ear)
{
    int pipes[2];

    assert_int_equal(pipe(pipes), 0);
    pid_t parent = getpid();
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(pipes[0]);
        _exit(getppid() == parent ? body(name, pipes[1]) : 1);
    }
    close(pipes[1]);
    *ear = pipes[0];
    return pid;
}

char recipe_hear(int ear)
{
    struct pollfd poller = { .fd = ear, .events = POLLIN };
    char          byte = 0;

    assert_int_equal(poll(&poller, 1, 10000), 1);
    assert_int_equal(read(ear, &byte, 1), 1);
    return byte;
}

int recipe_reap(pid_t pid, int ear)
{
    int status = 0;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    close(ear);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static killed_holder_make *make_it; /* the child inherits it */

static int hold_until_killed(const char *name, int mouth)
{
    struct hf_options options = HF_OPTIONS_INIT;
    struct hf_client *client;
    struct hf_lock   *lock;

    options.flags = HF_NO_KEEPER;
    options.ttl_ms = 1000;
    if (hf_open(recipe_url(), &options, &client) != 0 ||
        make_it(client, name, &lock) != 0 || hf_acquire(lock, 5000) != 0 ||
        write(mouth, "h", 1) != 1)
        return 1;
    for (;;) {
        struct pollfd poller = { .fd = hf_fd(client), .events = POLLIN };
        poll(&poller, 1, hf_timeout_ms(client));
        (void)hf_process(client);
    }
}

static void hold_here(struct killed_holder *dying, const char *name)
{
    struct hf_options options = HF_OPTIONS_INIT;
    char              url[256];

    snprintf(url, sizeof url, "%s?lease=" LEASE, recipe_url());
    options.flags = HF_NO_KEEPER;
    assert_int_equal(hf_open(url, &options, &dying->client), 0);
    assert_int_equal(make_it(dying->client, name, &dying->lock), 0);
    assert_int_equal(hf_acquire(dying->lock, 5000), 0);
}

void killed_holder_hold(struct killed_holder *dying, killed_holder_make *make,
                        const char *name)
{
    *dying = (struct killed_holder){ .ear = -1 };
    make_it = make;
    if (recipe_is_local()) {
        hold_here(dying, name);
        return;
    }
    dying->pid = recipe_fork(hold_until_killed, name, &dying->ear);
    assert_int_equal(recipe_hear(dying->ear), 'h');
}

void killed_holder_kill(struct killed_holder *dying, struct hf_client *witness,
                        const char *name, size_t count)
{
    if (dying->pid != 0) {
        kill(dying->pid, SIGKILL);
        waitpid(dying->pid, NULL, 0);
        close(dying->ear);
    }
    recipe_await_line(witness, name, count);
    hf_close(dying->client);
}
