/* driver.c - the same few things on any store; see bench/compare.py and bench/death.py.
 *
 *     driver URL free COUNT                  acquire and release a free lock
 *     driver URL own PROCESSES COUNT         so many processes, a lock of its own each
 *     driver URL hold NAME [HOLDFAST]        until it is killed; says "held".  With the
 *                                            path of that program: has a warden
 *     driver URL wait NAME                   says "waiting", then "granted MICROSECONDS"
 *
 * The first two say "COUNT SECONDS P50 P99", the last two in microseconds; `free` does not
 * begin before a line on stdin, and does that again for each.  MICROSECONDS are of the
 * monotonic clock.
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
#define CYCLES    100000 /* of all together */

struct shared {
    atomic_int  ready, done;
    atomic_bool go;
    double      took[CYCLES];
};

static const char *url;

static struct hf_lock *lock_of(struct hf_client *client, const char *name)
{
    struct hf_lock *ret = NULL;

    must_hf(hf_mutex(client, name, &ret), "hf_mutex", client);
    return ret;
}

static void cycle(struct hf_client *client, struct hf_lock *lock)
{
    must_hf(hf_acquire(lock, PATIENCE_MS), "hf_acquire", client);
    must_hf(hf_release(lock), "hf_release", client);
}

static void cycles(struct hf_client *client, struct hf_lock *lock, size_t count,
                   double *took)
{
    for (size_t i = 0; i < count; i++) {
        double begin = now_us();
        cycle(client, lock);
        took[i] = now_us() - begin;
    }
}

static void report(double begin, double *took, size_t count)
{
    printf("%zu %.6f %.2f %.2f\n", count, (now_us() - begin) / 1e6,
           percentile(took, count, 0.5), percentile(took, count, 0.99));
    fflush(stdout);
}

static void do_free(size_t count)
{
    struct hf_client *client = open_client(url, 0);
    struct hf_lock   *lock = lock_of(client, "free");
    double           *took = calloc(count, sizeof *took);
    char              line[16];

    must(took != NULL, "calloc");
    cycle(client, lock); /* opens the session */
    while (fgets(line, sizeof line, stdin) != NULL) {
        double begin = now_us();
        cycles(client, lock, count, took);
        report(begin, took, count);
    }
    free(took);
    hf_close(client);
}

/* ---- Many processes ------------------------------------------------------------------ */

static void process(struct shared *shared, int number, size_t count)
{
    struct hf_client *client = open_client(url, 0);
    char              name[32];

    snprintf(name, sizeof name, "own-%d", number);
    struct hf_lock *lock = lock_of(client, name);
    cycle(client, lock);
    atomic_fetch_add(&shared->ready, 1);
    while (!atomic_load(&shared->go))
        pause_us(500);
    cycles(client, lock, count, shared->took + (size_t)number * count);
    atomic_fetch_add(&shared->done, 1);
    hf_close(client);
    _exit(0);
}

static void await_all(atomic_int *number, int processes)
{
    while (atomic_load(number) < processes)
        pause_us(200);
}

static void do_own(int processes, size_t count)
{
    struct shared *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t          parent = getpid();
    int            status;

    must(shared != MAP_FAILED, "mmap");
    must(processes <= PROCESSES && (size_t)processes * count <= CYCLES, "so many cycles");
    for (int i = 0; i < processes; i++) {
        if (fork() != 0)
            continue;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent)
            process(shared, i, count);
        _exit(1);
    }
    alarm(120); /* if one of them fails, nobody says so */
    await_all(&shared->ready, processes);
    double begin = now_us();
    atomic_store(&shared->go, true);
    await_all(&shared->done, processes);
    report(begin, shared->took, (size_t)processes * count);
    for (int i = 0; i < processes; i++)
        must(wait(&status) > 0 && status == 0, "a process");
}

/* ---- One who dies ----------------------------------------------------------------------- */

static void do_hold(const char *name, const char *holdfast)
{
    struct hf_options options = HF_OPTIONS_INIT;

    options.flags = holdfast != NULL ? HF_WARDEN : 0;
    options.warden = holdfast;
    struct hf_client *client = open_with(url, options);
    struct hf_lock   *lock = lock_of(client, name);

    must_hf(hf_acquire(lock, PATIENCE_MS), "hf_acquire", client);
    puts("held");
    fflush(stdout);
    for (;;)
        pause();
}

static void do_wait(const char *name)
{
    struct hf_client *client = open_client(url, 0);
    struct hf_lock   *lock = lock_of(client, name);

    must_hf(hf_acquire_start(lock, -1), "hf_acquire_start", client);
    while (hf_ahead(lock) < 0)
        pause_us(1000);
    must(hf_ahead(lock) == 1, "waiting behind one");
    puts("waiting");
    fflush(stdout);
    while (hf_state(lock) == HF_WAITING)
        pause_us(200);
    printf("granted %.0f\n", now_us());
    fflush(stdout);
    must(hf_state(lock) == HF_HELD, "being granted");
    must_hf(hf_release(lock), "hf_release", client);
    hf_close(client);
}

int main(int argc, char **argv)
{
    const char *what = argc > 3 ? argv[2] : "";

    url = argv[1];
    if (strcmp(what, "free") == 0)
        do_free(strtoul(argv[3], NULL, 10));
    else if (strcmp(what, "own") == 0 && argc == 5)
        do_own(atoi(argv[3]), strtoul(argv[4], NULL, 10));
    else if (strcmp(what, "hold") == 0)
        do_hold(argv[3], argc > 4 ? argv[4] : NULL);
    else if (strcmp(what, "wait") == 0)
        do_wait(argv[3]);
    else {
        fprintf(stderr, "usage: %s URL free|own|hold|wait ...\n", argv[0]);
        return 2;
    }
    return 0;
}
