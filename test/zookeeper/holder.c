/* holder.c - a process that holds a lock and reports what it believes by its own clock,
 * for the tests with several servers (holders.py).
 *
 *     holder hold URL NAME LIMIT_MS     acquire, hold until stdin ends
 *     holder again URL NAME LIMIT_MS    the same; acquire it again when it is lost
 *     holder turns URL NAME LIMIT_MS    take turns until stdin ends
 *
 * It writes a history in the folder HF_HISTORIES, for the checker of test/chaos, and prints lines,
 * with all times of CLOCK_BOOTTIME in nanoseconds:
 *
 *     held NOW TOKEN
 *     left NOW DEADLINE LEAST_MS      for each line of stdin: its deadline, and the
 *                                     least time left since the previous line
 *     lost NOW DEADLINE CODE          it stopped; its last deadline, result of release
 *     asked NOW
 *     session NOW WHY                 the session was lost
 *     failed NOW CODE MESSAGE         it could not be acquired
 *     released NOW CODE
 *
 * Without arguments it takes one turn in a memory store, as a test of its own.
 */
#include "lib/turns.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct turns history;
static const char  *name; /* of the lock */

static void must(bool ok, const char *what, const char *why)
{
    if (ok)
        return;
    fprintf(stderr, "holder: %s: %s\n", what, why);
    exit(2);
}

static long long now_ns(void)
{
    return (long long)turns_now();
}

/* The last one that is known. */
static long long deadline(void)
{
    return (long long)history.last[history.turn].deadline;
}

/* ---- Holding ------------------------------------------------------------------------ */

/* Read a line of stdin; false: it has ended. */
static bool stdin_line(void)
{
    char byte;
    long n;

    while ((n = read(STDIN_FILENO, &byte, 1)) == 1 && byte != '\n')
        continue;
    return n == 1;
}

static bool acquire(struct hf_client *client, struct hf_lock *lock, int64_t limit)
{
    int r = turns_take(&history, lock, name, 1, 1, limit);

    if (r == 0)
        printf("held %lld %llu\n", now_ns(), (unsigned long long)hf_token(lock));
    else
        printf("failed %lld %s %s\n", now_ns(), hf_errname(r), hf_errmsg(client));
    fflush(stdout);
    return r == 0;
}

/* Hold it until stdin ends (true), or the lock is lost. */
static bool stay(struct hf_lock *lock)
{
    int64_t       least = INT64_MAX;
    struct pollfd fds[] = { { .fd = STDIN_FILENO, .events = POLLIN },
                            { .fd = hf_lost_fd(lock), .events = POLLIN } };

    must(fds[1].fd >= 0, "lost", "no descriptor");
    for (;;) {
        poll(fds, 2, 5);
        if (turns_act(&history, lock) && hf_left_ms(lock) < least)
            least = hf_left_ms(lock);
        if ((fds[1].revents & POLLIN) != 0)
            break;
        if (fds[0].revents == 0)
            continue;
        if (!stdin_line())
            return true;
        printf("left %lld %lld %lld\n", now_ns(), deadline(), (long long)least);
        fflush(stdout);
        least = INT64_MAX;
    }
    long long now = now_ns();
    turns_lost(&history);
    int r = turns_give(&history, lock);
    printf("lost %lld %lld %s\n", now, deadline(), r == 0 ? "0" : hf_errname(r));
    fflush(stdout);
    return false;
}

static void hold(struct hf_client *client, struct hf_lock *lock, int64_t limit,
                 bool again)
{
    do {
        if (!acquire(client, lock, limit))
            continue;
        if (stay(lock)) {
            int r = turns_give(&history, lock);
            printf("released %lld %s\n", now_ns(), r == 0 ? "0" : hf_errname(r));
            return;
        }
    } while (again);
}

/* ---- Turns -------------------------------------------------------------------------- */

static bool stdin_ended(void)
{
    struct pollfd poll_fd = { .fd = STDIN_FILENO, .events = POLLIN };

    return poll(&poll_fd, 1, 0) != 0;
}

static void turns(struct hf_client *client, struct hf_lock *lock, int64_t limit)
{
    unsigned seed = (unsigned)getpid();

    do {
        if (!acquire(client, lock, limit))
            continue;
        struct timespec nap = { .tv_nsec = (long)(rand_r(&seed) % 2000) * 1000 };
        nanosleep(&nap, NULL);
        if (!turns_act(&history, lock))
            turns_lost(&history);
        int r = turns_give(&history, lock);
        printf("released %lld %s\n", now_ns(), r == 0 ? "0" : hf_errname(r));
        fflush(stdout);
    } while (!stdin_ended());
}

/* ---- Main --------------------------------------------------------------------------- */

static void on_ask(struct hf_lock *lock, const char *reason, void *data)
{
    (void)lock, (void)reason, (void)data;
    printf("asked %lld\n", now_ns());
    fflush(stdout);
}

static void on_link(struct hf_client *client, enum hf_link link, const char *why,
                    void *data)
{
    (void)client, (void)data;
    if (link != HF_LINK_LOST)
        return;
    printf("session %lld %s\n", now_ns(), why);
    fflush(stdout);
}

/* One turn and one hold; stdin has ended already. */
static void test_itself(struct hf_client *client, struct hf_lock *lock)
{
    must(freopen("/dev/null", "r", stdin) != NULL, "stdin", "not replaced");
    turns(client, lock, 0);
    hold(client, lock, 0, false);
    must(history.turn == 2, "turns", "not two");
    must(hf_state(lock) == HF_IDLE, "lock", "was not released");
}

int main(int argc, char **argv)
{
    struct hf_options options = HF_OPTIONS_INIT;
    struct hf_client *client;
    struct hf_lock   *lock;
    bool              no_args = argc == 1;
    char              error[256] = "", who[32];
    char             *folder = no_args ? turns_folder() : getenv("HF_HISTORIES");

    must(no_args || argc == 5, "usage", "holder hold|again|turns URL NAME LIMIT_MS");
    name = no_args ? "a" : argv[3];
    snprintf(who, sizeof who, "holder-%d", (int)getpid());
    must(folder != NULL && turns_open(&history, folder, who, who) == 0, "history",
         "cannot be written");
    options.on_ask = on_ask;
    options.on_link = on_link;
    options.error = error;
    options.error_size = sizeof error;
    must(hf_open(no_args ? "memory:holder" : argv[2], &options, &client) == 0, "open",
         error);
    must(hf_mutex(client, name, &lock) == 0, "mutex", hf_errmsg(client));
    if (no_args)
        test_itself(client, lock);
    else if (strcmp(argv[1], "turns") == 0)
        turns(client, lock, atoll(argv[4]));
    else
        hold(client, lock, atoll(argv[4]), strcmp(argv[1], "again") == 0);
    hf_close(client);
    turns_end(&history);
    turns_close(&history);
    return !no_args || turns_judge(folder) ? 0 : 1;
}
