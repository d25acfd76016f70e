/* line.c - many waiters of one process in one line; see bench/redis.py.
 *
 *     line URL WAITERS
 *
 * Says, when all wait,    queued SECONDS BYTES THREADS
 * and goes on at a line on stdin; when each of them had the lock,
 *                         drained SECONDS
 *
 * BYTES of memory (resident) and THREADS (of all) are what the waiters need.  The
 * library's own thread drives, as it does by default.
 */
#include "bench/common.h"

#include <stdatomic.h>
#include <string.h>
#include <time.h>

#define LIMIT_US 40e6 /* to queue, and to drain */

static struct hf_client *client;
static struct hf_lock   *holder, **waiting;
static size_t            waiters;
static atomic_size_t     had; /* how many had it, and gave it back */
static size_t            granted;
static uint64_t          last_token;

static long status(const char *key)
{
    FILE *file = fopen("/proc/self/status", "r");
    char  line[128];
    long  value = -1;

    must(file != NULL, "/proc");
    while (fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, key, strlen(key)) == 0)
            value = strtol(line + strlen(key), NULL, 10);
    fclose(file);
    return value;
}

/* First come first served, and one at a time: the next is granted only after the last
 * one was given back. */
static void on_state(struct hf_lock *lock, enum hf_state state, int why, void *data)
{
    (void)data;
    must_hf(why, "a waiter", NULL);
    if (state == HF_HELD && lock != holder) {
        must(granted < waiters && lock == waiting[granted], "first come first served");
        must(hf_token(lock) > last_token, "ascending token");
        last_token = hf_token(lock);
        granted++;
        must_hf(hf_release_start(lock), "hf_release_start", client);
    } else if (state == HF_IDLE && lock != holder) {
        atomic_fetch_add(&had, 1);
    }
}

static void queue(void)
{
    for (size_t i = 0; i < waiters; i++) {
        must_hf(hf_mutex(client, "line", &waiting[i]), "hf_mutex", client);
        must_hf(hf_acquire_start(waiting[i], -1), "hf_acquire_start", client);
    }
    double limit = now_us() + LIMIT_US;
    for (size_t i = 0; i < waiters; i++)
        while (hf_ahead(waiting[i]) < 0) {
            must(now_us() < limit, "queueing in time");
            pause_us(200);
        }
}

static void drain(void)
{
    double limit = now_us() + LIMIT_US;

    must_hf(hf_release(holder), "hf_release", client);
    while (atomic_load(&had) < waiters) {
        must(now_us() < limit, "draining in time");
        pause_us(200);
    }
}

int main(int argc, char **argv)
{
    struct hf_options options = HF_OPTIONS_INIT;
    char              line[16];

    waiters = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
    if (waiters == 0) {
        fprintf(stderr, "usage: %s URL WAITERS\n", argv[0]);
        return 2;
    }
    options.on_state = on_state;
    must_hf(hf_open(argv[1], &options, &client), "hf_open", NULL);
    must_hf(hf_mutex(client, "line", &holder), "hf_mutex", client);
    must_hf(hf_acquire(holder, PATIENCE_MS), "hf_acquire", client);
    last_token = hf_token(holder);
    waiting = calloc(waiters, sizeof(struct hf_lock *));
    must(waiting != NULL, "calloc");

    long   before = status("VmRSS:"), threads = status("Threads:");
    double start = now_us();
    queue();
    double queued = now_us() - start;
    printf("queued %.6f %ld %ld %ld\n", queued / 1e6, (status("VmRSS:") - before) * 1024,
           status("Threads:"), threads);
    fflush(stdout);
    must(fgets(line, sizeof line, stdin) != NULL, "reading");
    start = now_us();
    drain();
    printf("drained %.6f\n", (now_us() - start) / 1e6);
    for (size_t i = 0; i < waiters; i++)
        hf_lock_free(waiting[i]);
    hf_close(client);
    free(waiting);
    return 0;
}
