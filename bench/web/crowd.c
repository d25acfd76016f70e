/* crowd.c - many locks with many waiters, in one process, for bench/web.py.
 *
 *     bench/web/crowd URL LOCKS WAITERS
 *
 * Prints "ready" when all hold or wait.  For each number on stdin, so many locks change hands: the
 * holder releases, and queues again.  Ends with stdin.
 */
#include "holdfast.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct crowd {
    struct hf_client *client;
    struct hf_lock  **lock;  /* handles of one name are adjacent */
    size_t           *first; /* of each name: the holder */
    size_t            names, each;
};

static void fail(struct crowd *crowd, const char *what)
{
    fprintf(stderr, "crowd: %s: %s\n", what, hf_errmsg(crowd->client));
    exit(1);
}

/* Until the store has nothing new, or there is input. */
static void turn(struct crowd *crowd, bool wait, bool *readable)
{
    struct pollfd fds[] = { { .fd = hf_fd(crowd->client), .events = POLLIN },
                            { .fd = 0, .events = POLLIN } };

    poll(fds, readable != NULL ? 2 : 1, wait ? hf_timeout_ms(crowd->client) : 0);
    hf_process(crowd->client);
    if (readable != NULL)
        *readable = fds[1].revents != 0;
}

static void start(struct crowd *crowd, size_t i)
{
    if (hf_acquire_start(crowd->lock[i], -1) < 0)
        fail(crowd, "acquire");
}

static void fill(struct crowd *crowd)
{
    char name[64];

    for (size_t n = 0; n < crowd->names; n++) {
        for (size_t k = 0; k < crowd->each; k++) {
            size_t i = n * crowd->each + k;
            snprintf(name, sizeof name, "lock-%04zu", n);
            if (hf_mutex(crowd->client, name, &crowd->lock[i]) < 0)
                fail(crowd, "mutex");
            start(crowd, i);
        }
        turn(crowd, false, NULL);
    }
    for (size_t i = 0; i < crowd->names * crowd->each; i++)
        while (i % crowd->each == 0 ? hf_state(crowd->lock[i]) != HF_HELD
                                    : hf_ahead(crowd->lock[i]) < 0)
            turn(crowd, true, NULL);
}

/* The first one holds: the queue has the order in which they were started. */
static void hand_over(struct crowd *crowd, size_t count)
{
    for (size_t n = 0; n < count && n < crowd->names; n++) {
        size_t i = n * crowd->each + crowd->first[n];
        hf_release_start(crowd->lock[i]);
    }
    for (size_t n = 0; n < count && n < crowd->names; n++) {
        size_t i = n * crowd->each + crowd->first[n];
        while (hf_state(crowd->lock[i]) != HF_IDLE)
            turn(crowd, true, NULL);
        start(crowd, i);
        crowd->first[n] = (crowd->first[n] + 1) % crowd->each;
    }
}

int main(int argc, char **argv)
{
    struct hf_options options = HF_OPTIONS_INIT;
    struct crowd      crowd = { 0 };
    char              line[64];
    bool              readable;

    if (argc != 4)
        return 64;
    crowd.names = strtoul(argv[2], NULL, 10);
    crowd.each = strtoul(argv[3], NULL, 10) + 1;
    crowd.lock = calloc(crowd.names * crowd.each, sizeof *crowd.lock);
    crowd.first = calloc(crowd.names, sizeof *crowd.first);
    options.flags = HF_NO_KEEPER;
    options.command = "deploy.sh --env production --service billing";
    options.note = "release 4.12.0";
    if (crowd.lock == NULL || crowd.first == NULL ||
        hf_open(argv[1], &options, &crowd.client) < 0)
        return 1;
    fill(&crowd);
    puts("ready");
    fflush(stdout);
    for (;;) {
        turn(&crowd, true, &readable);
        if (!readable)
            continue;
        if (fgets(line, sizeof line, stdin) == NULL)
            break;
        hand_over(&crowd, strtoul(line, NULL, 10));
        puts("done");
        fflush(stdout);
    }
    _Exit(0); /* the servers of the benchmark may have ended */
}
