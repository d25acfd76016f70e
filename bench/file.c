/* file.c - the file store beside what its machine can do at best.
 *
 *     bench/file [ROUNDS]
 *
 * 1. Acquire and release of a free lock, beside two bare transactions that
 *    write one row each, with the same settings of SQLite.
 * 2. The same by 16 threads of one session, a lock for each, beside one thread.
 * 3. Handing a lock to another process that waits for it, asleep, beside
 *    handing it a byte through a pipe.
 *
 * Both sides of each comparison take turns in the same run, so that a noisy
 * machine disturbs them alike; medians of rounds are compared.
 */
#include "holdfast.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BATCH   500 /* operations in a round */
#define THREADS 16
#define HANDS   200 /* hand-overs in a round */

static char folder[] = "/tmp/holdfast-bench-XXXXXX";

static double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double percentile(double *values, size_t count, double p)
{
    qsort(values, count, sizeof *values, ascending);
    size_t at = (size_t)((double)(count - 1) * p);
    return values[at];
}

static void die(const char *what)
{
    fprintf(stderr, "bench: %s failed\n", what);
    exit(1);
}

static void must(int ok, const char *what)
{
    if (!ok)
        die(what);
}

/* ---- 1. A free lock ------------------------------------------------------------ */

struct floor {
    sqlite3      *db;
    sqlite3_stmt *begin, *write, *commit;
};

static sqlite3_stmt *prepared(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *stmt = NULL;

    must(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK, sql);
    return stmt;
}

static void floor_open(struct floor *f)
{
    char path[128];

    snprintf(path, sizeof path, "%s/floor.db", folder);
    must(sqlite3_open(path, &f->db) == SQLITE_OK, "sqlite3_open");
    must(sqlite3_exec(f->db,
                      "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
                      "CREATE TABLE t(id INTEGER PRIMARY KEY, n INTEGER);"
                      "INSERT INTO t VALUES(1, 0);",
                      NULL, NULL, NULL) == SQLITE_OK,
         "schema");
    f->begin = prepared(f->db, "BEGIN IMMEDIATE");
    f->write = prepared(f->db, "UPDATE t SET n = n + 1 WHERE id = 1");
    f->commit = prepared(f->db, "COMMIT");
}

static void floor_close(struct floor *f)
{
    sqlite3_finalize(f->begin);
    sqlite3_finalize(f->write);
    sqlite3_finalize(f->commit);
    sqlite3_close(f->db);
}

static void step(sqlite3_stmt *stmt)
{
    must(sqlite3_step(stmt) == SQLITE_DONE, "step");
    sqlite3_reset(stmt);
}

static double floor_round(struct floor *f)
{
    double start = now_us();

    for (int i = 0; i < 2 * BATCH; i++) {
        step(f->begin);
        step(f->write);
        step(f->commit);
    }
    return (now_us() - start) / BATCH;
}

static double lock_round(struct hf_lock *lock)
{
    double start = now_us();

    for (int i = 0; i < BATCH; i++) {
        must(hf_acquire(lock, 1000) == 0, "acquire");
        must(hf_release(lock) == 0, "release");
    }
    return (now_us() - start) / BATCH;
}

static struct hf_client *open_locks(void)
{
    struct hf_client *client = NULL;
    char              url[160];

    snprintf(url, sizeof url, "sqlite:%s/locks.db", folder);
    must(hf_open(url, NULL, &client) == 0, "hf_open");
    return client;
}

static void bench_free_lock(int rounds)
{
    struct hf_client *client = open_locks();
    struct hf_lock   *lock = NULL;
    struct floor      f;
    double           *ours = calloc((size_t)rounds, sizeof *ours);
    double           *bare = calloc((size_t)rounds, sizeof *bare);

    must(ours != NULL && bare != NULL, "calloc");
    must(hf_mutex(client, "bench", &lock) == 0, "hf_mutex");
    floor_open(&f);
    for (int i = 0; i < rounds; i++) {
        bare[i] = floor_round(&f);
        ours[i] = lock_round(lock);
    }
    double a = percentile(ours, (size_t)rounds, 0.5);
    double b = percentile(bare, (size_t)rounds, 0.5);
    printf("free lock: acquire+release %.1f us (%.0f/s); two bare transactions %.1f us "
           "(%.0f/s); rate %.2f of theirs\n",
           a, 1e6 / a, b, 1e6 / b, b / a);
    floor_close(&f);
    hf_close(client);
    free(ours);
    free(bare);
}

/* ---- 2. Many threads -------------------------------------------------------------- */

static void *cycle(void *data)
{
    for (int i = 0; i < BATCH; i++) {
        must(hf_acquire(data, 10000) == 0, "acquire");
        must(hf_release(data) == 0, "release");
    }
    return NULL;
}

/* Of one acquire and release, by so many threads. */
static double threads_round(struct hf_lock **lock, int count)
{
    pthread_t thread[THREADS];
    double    start = now_us();

    for (int i = 0; i < count; i++)
        must(pthread_create(&thread[i], NULL, cycle, lock[i]) == 0, "pthread_create");
    for (int i = 0; i < count; i++)
        pthread_join(thread[i], NULL);
    return (now_us() - start) / BATCH / count;
}

static void bench_threads(int rounds)
{
    struct hf_client *client = open_locks();
    struct hf_lock   *lock[THREADS];
    double           *many = calloc((size_t)rounds, sizeof *many);
    double           *one = calloc((size_t)rounds, sizeof *one);

    must(many != NULL && one != NULL, "calloc");
    for (int i = 0; i < THREADS; i++) {
        char name[32];
        snprintf(name, sizeof name, "bench-%d", i);
        must(hf_mutex(client, name, &lock[i]) == 0, "hf_mutex");
    }
    for (int i = 0; i < rounds; i++) {
        one[i] = threads_round(lock, 1);
        many[i] = threads_round(lock, THREADS);
    }
    double a = percentile(many, (size_t)rounds, 0.5);
    double b = percentile(one, (size_t)rounds, 0.5);
    printf("%d threads: acquire+release %.1f us (%.0f/s); one thread %.1f us (%.0f/s); "
           "%.1f times its rate\n",
           THREADS, a, 1e6 / a, b, 1e6 / b, b / a);
    hf_close(client);
    free(many);
    free(one);
}

/* ---- 3. Hand-over ---------------------------------------------------------------- */

/* What two processes share: one has the turn, the other waits for it. */
struct shared {
    atomic_int      waiting; /* who is about to wait: 1 or 2 */
    _Atomic(double) given;   /* when the turn was given away; 0: not to a waiter */
    atomic_int      count;
    double          took[100000];
};

/* Spin until the other one waits, and long enough for it to be asleep. */
static void let_it_sleep(struct shared *shared, int me)
{
    double end = now_us() + 1e6;

    while (atomic_load(&shared->waiting) == me && now_us() < end)
        ;
    for (end = now_us() + 300; now_us() < end;)
        ;
    bool asleep = atomic_load(&shared->waiting) != me;
    atomic_store(&shared->given, asleep ? now_us() : 0);
}

static void got_it(struct shared *shared)
{
    double given = atomic_load(&shared->given);

    if (given > 0)
        shared->took[atomic_fetch_add(&shared->count, 1)] = now_us() - given;
}

static void pipe_process(struct shared *shared, int me, int in, int out)
{
    char c = 'x';

    for (int i = 0; i < HANDS / 2; i++) {
        atomic_store(&shared->waiting, me);
        must(read(in, &c, 1) == 1, "read");
        got_it(shared);
        let_it_sleep(shared, me);
        must(write(out, &c, 1) == 1, "write");
    }
    _exit(0);
}

static void lock_process(struct shared *shared, int me)
{
    struct hf_client *client = open_locks();
    struct hf_lock   *lock = NULL;

    must(hf_mutex(client, "bench", &lock) == 0, "hf_mutex");
    for (int i = 0; i < HANDS / 2; i++) {
        atomic_store(&shared->waiting, me);
        must(hf_acquire(lock, 10000) == 0, "acquire");
        got_it(shared);
        let_it_sleep(shared, me);
        must(hf_release(lock) == 0, "release");
    }
    hf_close(client);
    _exit(0);
}

static void hand_over_round(struct shared *shared, bool by_lock)
{
    pid_t pid[2];
    int   ends[2][2];

    atomic_store(&shared->given, 0);
    must(pipe(ends[0]) == 0 && pipe(ends[1]) == 0, "pipe");
    for (int i = 0; i < 2; i++) {
        pid[i] = fork();
        if (pid[i] == 0 && by_lock)
            lock_process(shared, i + 1);
        else if (pid[i] == 0)
            pipe_process(shared, i + 1, ends[i][0], ends[!i][1]);
    }
    must(write(ends[0][1], "x", 1) == 1, "write");
    for (int i = 0; i < 2; i++) {
        int status;
        must(waitpid(pid[i], &status, 0) == pid[i] && status == 0, "bench process");
        close(ends[i][0]);
        close(ends[i][1]);
    }
}

static struct shared *share(void)
{
    struct shared *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    must(shared != MAP_FAILED, "mmap");
    return shared;
}

static void bench_hand_over(int rounds)
{
    struct shared *lock = share(), *bare = share();

    for (int i = 0; i < rounds; i++) {
        hand_over_round(bare, false);
        hand_over_round(lock, true);
    }
    double a50 = percentile(lock->took, (size_t)lock->count, 0.5);
    double a99 = percentile(lock->took, (size_t)lock->count, 0.99);
    double b50 = percentile(bare->took, (size_t)bare->count, 0.5);
    printf("hand-over: release to next holder p50 %.1f us, p99 %.1f us (%d); a byte "
           "through a pipe, one way p50 %.1f us; %.1f times that\n",
           a50, a99, lock->count, b50, a50 / b50);
    munmap(lock, sizeof *lock);
    munmap(bare, sizeof *bare);
}

int main(int argc, char **argv)
{
    int  rounds = argc > 1 ? atoi(argv[1]) : 20;
    char command[160];

    if (rounds < 1 || rounds > 400) {
        fprintf(stderr, "usage: %s [ROUNDS, 1 to 400]\n", argv[0]);
        return 2;
    }
    must(mkdtemp(folder) != NULL, "mkdtemp");
    bench_free_lock(rounds);
    bench_threads(rounds);
    bench_hand_over(rounds);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) == 0 ? 0 : 1;
}
