/* turns.c - processes take turns on one lock; see bench/redis.py.
 *
 *     turns URL PROCESSES TURNS HOLD [loop]
 *
 * Each has it TURNS times, for HOLD microseconds.  Says "ready" when all have their
 * sessions, begins at a line on stdin, then says
 *
 *     SECONDS HAND-OVERS P50 P99 WAITED WOKEN
 *
 * P50 and P99: microseconds from the call of release until the next holder, who was
 * waiting then, knows.  WAITED: how many grants had to be waited for; WOKEN: how often
 * a process that waited was woken, be it for nothing; both only with "loop", where
 * processes poll for themselves.  Ends at another line.
 *
 * What the lock protects is a number in shared memory that is read, and written one
 * higher at the end of the turn: had it two holders once, it would come out too low.
 */
#include "bench/common.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROCESSES 64
#define TURNS     100000 /* of all together */

struct shared {
    atomic_int  ready, done; /* how many processes are */
    atomic_bool go, end;

    /* Under the lock; atomics would hide it if the lock let two in. */
    volatile unsigned long count;
    volatile double        released; /* when the last holder began to let go */
    volatile uint64_t      token;
    volatile unsigned long hands;
    double                 took[TURNS];

    atomic_ulong waited, woken;
};

static struct shared *shared;
static const char    *url;
static bool           own_loop;
static unsigned long  turns;
static long           hold_us;

static void wait_for(atomic_bool *flag)
{
    while (!atomic_load(flag))
        pause_us(500);
}

/* Counts how often we are woken between being in line and having it. */
static void acquire_by_loop(struct hf_client *client, struct hf_lock *lock)
{
    bool queued = false;

    must_hf(hf_acquire_start(lock, -1), "hf_acquire_start", client);
    while (hf_state(lock) == HF_WAITING) {
        queued = queued || hf_ahead(lock) >= 0;
        if (turn_loop(client) > 0 && queued)
            atomic_fetch_add(&shared->woken, 1);
    }
    must(hf_state(lock) == HF_HELD, "acquire by a loop");
    if (queued)
        atomic_fetch_add(&shared->waited, 1);
}

static void release_by_loop(struct hf_client *client, struct hf_lock *lock)
{
    must_hf(hf_release_start(lock), "hf_release_start", client);
    while (hf_state(lock) == HF_LEAVING)
        turn_loop(client);
    must(hf_state(lock) == HF_IDLE, "release by a loop");
}

/* What the lock protects.  `since`: when we began to wait. */
static void have_it(double since, uint64_t token)
{
    double        now = now_us(), released = shared->released;
    unsigned long count = shared->count;

    must(token > shared->token, "ascending token");
    if (released > since)
        shared->took[shared->hands++] = now - released;
    pause_us(hold_us);
    shared->token = token;
    shared->count = count + 1;
    shared->released = now_us();
}

static void take_turn(struct hf_client *client, struct hf_lock *lock)
{
    double since = now_us();

    if (own_loop)
        acquire_by_loop(client, lock);
    else
        must_hf(hf_acquire(lock, PATIENCE_MS), "hf_acquire", client);
    have_it(since, hf_token(lock));
    if (own_loop)
        release_by_loop(client, lock);
    else
        must_hf(hf_release(lock), "hf_release", client);
}

static void process(int number)
{
    struct hf_client *client = open_client(url, own_loop ? HF_NO_KEEPER : 0);
    struct hf_lock   *lock = NULL, *mine = NULL;
    char              name[32];

    snprintf(name, sizeof name, "turns-%d", number);
    must_hf(hf_mutex(client, "turns", &lock), "hf_mutex", client);
    must_hf(hf_mutex(client, name, &mine), "hf_mutex", client);
    must_hf(hf_acquire(mine, PATIENCE_MS), "hf_acquire", client); /* opens the session */
    must_hf(hf_release(mine), "hf_release", client);
    atomic_fetch_add(&shared->ready, 1);
    wait_for(&shared->go);
    for (unsigned long i = 0; i < turns; i++)
        take_turn(client, lock);
    atomic_fetch_add(&shared->done, 1);
    wait_for(&shared->end);
    hf_close(client);
    _exit(0);
}

/* Returns when all processes have added to it; fails when one of them is gone. */
static void await_all(atomic_int *number, int processes)
{
    while (atomic_load(number) < processes) {
        must(waitpid(-1, NULL, WNOHANG) == 0, "a process");
        pause_us(500);
    }
}

static void start(int number)
{
    pid_t parent = getpid(), pid = fork();

    must(pid >= 0, "fork");
    if (pid > 0)
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent)
        process(number);
    _exit(1);
}

static void report(double seconds)
{
    size_t hands = shared->hands;

    printf("%.6f %zu %.2f %.2f %lu %lu\n", seconds, hands,
           percentile(shared->took, hands, 0.5), percentile(shared->took, hands, 0.99),
           atomic_load(&shared->waited), atomic_load(&shared->woken));
    fflush(stdout);
}

static void conduct(int processes)
{
    char line[16];
    int  status;

    for (int i = 0; i < processes; i++)
        start(i);
    await_all(&shared->ready, processes);
    puts("ready");
    fflush(stdout);
    must(fgets(line, sizeof line, stdin) != NULL, "reading");
    double begin = now_us();
    atomic_store(&shared->go, true);
    await_all(&shared->done, processes);
    must(shared->count == turns * (unsigned long)processes, "exclusion");
    report((shared->released - begin) / 1e6);
    must(fgets(line, sizeof line, stdin) != NULL, "reading");
    atomic_store(&shared->end, true);
    for (int i = 0; i < processes; i++)
        must(wait(&status) > 0 && status == 0, "a process");
}

int main(int argc, char **argv)
{
    int processes = argc >= 5 ? atoi(argv[2]) : 0;

    if (argc >= 5) {
        url = argv[1];
        turns = strtoul(argv[3], NULL, 10);
        hold_us = strtol(argv[4], NULL, 10);
    }
    own_loop = argc == 6 && strcmp(argv[5], "loop") == 0;
    if (processes < 1 || processes > PROCESSES ||
        turns > TURNS / (unsigned long)processes) {
        fprintf(stderr, "usage: %s URL PROCESSES TURNS HOLD [loop]\n", argv[0]);
        return 2;
    }
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    must(shared != MAP_FAILED, "mmap");
    conduct(processes);
    return 0;
}
