/* holder.c - a process that holds a lock and reports what it believes by its own clock,
 * for the tests with several servers (holders.py).
 *
 *     holder hold URL NAME LIMIT_MS     acquire, hold until stdin ends
 *     holder again URL NAME LIMIT_MS    the same; acquire it again when it is lost
 *     holder turns URL NAME LIMIT_MS FILE
 *                                       take turns until stdin ends; each adds one to the
 *                                       number in FILE
 *
 * It prints lines, with all times of CLOCK_BOOTTIME in nanoseconds:
 *
 *     held NOW TOKEN
 *     left NOW DEADLINE LEAST_MS      for each line of stdin: its deadline, and the
 *                                     least time left since the previous line
 *     lost NOW DEADLINE CODE          it stopped; its last deadline, result of release
 *     asked NOW
 *     session NOW WHY                 the session was lost
 *     failed NOW CODE MESSAGE         it could not be acquired
 *     released NOW CODE
 *     turn TOKEN GRANT END DEADLINE CODE
 *
 * A printed deadline is never earlier than the believed one, and at most 1 ms later.
 * Without arguments it takes one turn in a memory store, as a test of its own.
 */
#include "holdfast.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define DIGITS 20 /* of the number in a file, with its newline */

static void must(bool ok, const char *what, const char *why)
{
    if (ok)
        return;
    fprintf(stderr, "holder: %s: %s\n", what, why);
    exit(2);
}

static long long now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_BOOTTIME, &t);
    return (long long)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- Belief ------------------------------------------------------------------------- */

struct belief {
    long long deadline;
    int64_t   left, least;
};

/* The clock is read last, so that the printed deadline is not too early. */
static void look(struct hf_lock *lock, struct belief *belief)
{
    belief->left = hf_left_ms(lock);
    long long now = now_ns();

    if (belief->left <= 0)
        return;
    bool endless = belief->left == INT64_MAX;
    belief->deadline = endless ? INT64_MAX : now + (belief->left + 1) * 1000000;
    if (belief->left < belief->least)
        belief->least = belief->left;
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
    int r = hf_acquire(lock, limit);

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
    struct belief belief = { .least = INT64_MAX };
    struct pollfd fds[] = { { .fd = STDIN_FILENO, .events = POLLIN },
                            { .fd = hf_lost_fd(lock), .events = POLLIN } };

    must(fds[1].fd >= 0, "lost", "no descriptor");
    for (;;) {
        poll(fds, 2, 5);
        look(lock, &belief);
        if ((fds[1].revents & POLLIN) != 0)
            break;
        if (fds[0].revents == 0)
            continue;
        if (!stdin_line())
            return true;
        printf("left %lld %lld %lld\n", now_ns(), belief.deadline,
               (long long)belief.least);
        fflush(stdout);
        belief.least = INT64_MAX;
    }
    long long now = now_ns();
    int       r = hf_release(lock);
    printf("lost %lld %lld %s\n", now, belief.deadline, r == 0 ? "0" : hf_errname(r));
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
            int r = hf_release(lock);
            printf("released %lld %s\n", now_ns(), r == 0 ? "0" : hf_errname(r));
            return;
        }
    } while (again);
}

/* ---- Turns -------------------------------------------------------------------------- */

static long get(int fd)
{
    char text[DIGITS + 1] = "";

    must(pread(fd, text, DIGITS, 0) == DIGITS, "file", "too short");
    return strtol(text, NULL, 10);
}

static void put(int fd, long value)
{
    char text[32];

    snprintf(text, sizeof text, "%019ld\n", value);
    must(pwrite(fd, text, DIGITS, 0) == DIGITS, "file", "cannot be written");
}

static bool stdin_ended(void)
{
    struct pollfd poll_fd = { .fd = STDIN_FILENO, .events = POLLIN };

    return poll(&poll_fd, 1, 0) != 0;
}

/* Read, wait a moment, write: two at a time would spoil the count. */
static void turn(struct hf_lock *lock, int fd, unsigned *seed)
{
    long long          grant = now_ns();
    unsigned long long token = hf_token(lock);
    struct belief      belief = { .least = INT64_MAX };
    struct timespec    nap = { .tv_nsec = (long)(rand_r(seed) % 2000) * 1000 };

    long value = get(fd);
    nanosleep(&nap, NULL);
    look(lock, &belief);
    if (belief.left > 0)
        put(fd, value + 1);
    long long end = now_ns();
    int       r = hf_release(lock);
    printf("turn %llu %lld %lld %lld %s\n", token, grant, end, belief.deadline,
           r == 0 ? "0" : hf_errname(r));
}

static void turns(struct hf_client *client, struct hf_lock *lock, int64_t limit, int fd)
{
    unsigned seed = (unsigned)getpid();

    must(fd >= 0, "file", "cannot be opened");
    do {
        int r = hf_acquire(lock, limit);
        if (r == 0)
            turn(lock, fd, &seed);
        else
            printf("failed %lld %s %s\n", now_ns(), hf_errname(r), hf_errmsg(client));
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
    int file = memfd_create("holder", MFD_CLOEXEC);

    must(freopen("/dev/null", "r", stdin) != NULL && file >= 0, "files", "none");
    put(file, 41);
    turns(client, lock, 0, file);
    must(get(file) == 42, "count", "wrong");
    hold(client, lock, 0, false);
    must(hf_state(lock) == HF_IDLE, "lock", "was not released");
}

int main(int argc, char **argv)
{
    struct hf_options options = HF_OPTIONS_INIT;
    struct hf_client *client;
    struct hf_lock   *lock;
    bool              no_args = argc == 1;
    char              error[256] = "";

    must(no_args || argc >= 5, "usage",
         "holder hold|again|turns URL NAME LIMIT_MS [FILE]");
    options.on_ask = on_ask;
    options.on_link = on_link;
    options.error = error;
    options.error_size = sizeof error;
    must(hf_open(no_args ? "memory:holder" : argv[2], &options, &client) == 0, "open",
         error);
    must(hf_mutex(client, no_args ? "a" : argv[3], &lock) == 0, "mutex",
         hf_errmsg(client));
    if (no_args)
        test_itself(client, lock);
    else if (strcmp(argv[1], "turns") == 0 && argc == 6)
        turns(client, lock, atoll(argv[4]), open(argv[5], O_RDWR | O_CLOEXEC));
    else
        hold(client, lock, atoll(argv[4]), strcmp(argv[1], "again") == 0);
    hf_close(client);
    return 0;
}
