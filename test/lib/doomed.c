/* doomed.c - see doomed.h. */
#include "lib/doomed.h"

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

static doomed_make *make_it; /* handed to the child by being inherited */

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

static void hold_here(struct doomed *doomed, const char *name)
{
    struct hf_options options = HF_OPTIONS_INIT;
    char              url[256];

    snprintf(url, sizeof url, "%s?lease=" LEASE, recipe_url());
    options.flags = HF_NO_KEEPER;
    assert_int_equal(hf_open(url, &options, &doomed->client), 0);
    assert_int_equal(make_it(doomed->client, name, &doomed->lock), 0);
    assert_int_equal(hf_acquire(doomed->lock, 5000), 0);
}

void doomed_hold(struct doomed *doomed, doomed_make *make, const char *name)
{
    *doomed = (struct doomed){ .ear = -1 };
    make_it = make;
    if (recipe_is_local()) {
        hold_here(doomed, name);
        return;
    }
    doomed->pid = recipe_fork(hold_until_killed, name, &doomed->ear);
    assert_int_equal(recipe_hear(doomed->ear), 'h');
}

void doomed_kill(struct doomed *doomed, struct hf_client *witness, const char *name,
                 size_t count)
{
    if (doomed->pid != 0) {
        kill(doomed->pid, SIGKILL);
        waitpid(doomed->pid, NULL, 0);
        close(doomed->ear);
    }
    recipe_await_line(witness, name, count);
    hf_close(doomed->client);
}
