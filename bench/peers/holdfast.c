/* holdfast.c - the benchmark's scenarios with Holdfast's locks; see bench/zookeeper.py.
 *
 *     holdfast URL
 *
 * Reads "SCENARIO SIZE" from stdin and answers "SCENARIO OPERATIONS SECONDS";
 * sessions stay open from one to the next.  SIZE is in seconds, of S4 the number
 * of waiters.
 */
#include "holdfast.h"

#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SESSIONS     64
#define READ_PERCENT 90
#define PATIENCE_MS  20000

static const char       *url;
static struct hf_client *sessions[SESSIONS];

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void must(int r, const char *what, struct hf_client *client)
{
    if (r >= 0)
        return;
    fprintf(stderr, "%s: %s: %s\n", what, hf_errname(r),
            client != NULL ? hf_errmsg(client) : "");
    exit(1);
}

static struct hf_client *session(size_t number)
{
    if (number >= SESSIONS)
        must(HF_EINVAL, "too many sessions", NULL);
    if (sessions[number] == NULL)
        must(hf_open(url, NULL, &sessions[number]), "hf_open", NULL);
    return sessions[number];
}

/* ---- Threads that take turns ------------------------------------------------ */

enum manner {
    SIMPLE,    /* acquire and release one handle, waiting for both */
    ALTERNATE, /* two handles in turn; nobody waits for the release */
    MIXED,     /* the first most of the time, else the second */
};

struct worker {
    pthread_t         thread;
    struct hf_client *client;
    struct hf_lock   *lock[2];
    enum manner       manner;
    double            end;
    unsigned          seed;
    unsigned long     count;
};

static int take_turn(struct worker *w)
{
    bool            second = w->manner == ALTERNATE ? w->count % 2
                             : w->manner == MIXED ? rand_r(&w->seed) % 100 >= READ_PERCENT
                                                  : false;
    struct hf_lock *lock = w->lock[second];

    int r = hf_acquire(lock, PATIENCE_MS);
    if (r < 0)
        return r;
    return w->manner == ALTERNATE ? hf_release_start(lock) : hf_release(lock);
}

static void *work(void *data)
{
    struct worker *w = data;

    for (; now() < w->end; w->count++)
        must(take_turn(w), "turn", w->client);
    return NULL;
}

static void prepare(struct worker *w, size_t number, const char *scenario)
{
    char name[32];
    int  r;

    snprintf(name, sizeof name, "%.2s", scenario);
    w->seed = (unsigned)number + 1;
    if (strncmp(scenario, "S2", 2) == 0) {
        snprintf(name, sizeof name, "S2-%zu", number);
        w->client = session(0);
        r = hf_mutex(w->client, name, &w->lock[0]);
    } else if (strncmp(scenario, "S5", 2) == 0) {
        w->manner = MIXED;
        w->client = session(number);
        r = hf_reader(w->client, name, &w->lock[0]);
        if (r == 0)
            r = hf_writer(w->client, name, &w->lock[1]);
    } else {
        w->client = session(number);
        w->manner = strchr(scenario, '+') != NULL ? ALTERNATE : SIMPLE;
        r = hf_mutex(w->client, name, &w->lock[0]);
        if (r == 0)
            r = hf_mutex(w->client, name, &w->lock[1]);
    }
    must(r, "lock", w->client);
}

static unsigned long repeat(const char *scenario, double seconds)
{
    const char    *colon = strchr(scenario, ':');
    size_t         threads = colon != NULL ? strtoul(colon + 1, NULL, 10) : 1;
    struct worker *workers = calloc(threads, sizeof *workers);
    unsigned long  count = 0;

    must(workers == NULL ? HF_ENOMEM : 0, "calloc", NULL);
    for (size_t i = 0; i < threads; i++)
        prepare(&workers[i], i, scenario);
    double end = now() + seconds;
    for (size_t i = 0; i < threads; i++) {
        workers[i].end = end;
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
            must(HF_ENOMEM, "pthread_create", NULL);
    }
    for (size_t i = 0; i < threads; i++) {
        pthread_join(workers[i].thread, NULL);
        count += workers[i].count;
    }
    for (size_t i = 0; i < threads; i++) {
        hf_lock_free(workers[i].lock[0]);
        hf_lock_free(workers[i].lock[1]);
    }
    free(workers);
    return count;
}

/* ---- A long line in one process ------------------------------------------------ */

static struct hf_lock *holder;  /* keeps the lock until all are in line */
static size_t          drained; /* how many have had it and gave it back */

/* Whoever else is granted goes at once. */
static void pass_on(struct hf_lock *lock, enum hf_state state, int why, void *data)
{
    (void)data;
    must(why, "S4", NULL);
    if (state == HF_HELD && lock != holder)
        must(hf_release_start(lock), "hf_release_start", NULL);
    else if (state == HF_IDLE)
        drained++;
}

static struct hf_client *loop_client(void (*on_state)(struct hf_lock *, enum hf_state,
                                                      int, void *),
                                     void *data)
{
    struct hf_client *client = NULL;
    struct hf_options options = HF_OPTIONS_INIT;

    options.flags = HF_NO_KEEPER;
    options.on_state = on_state;
    options.data = data;
    must(hf_open(url, &options, &client), "hf_open", NULL);
    return client;
}

static void turn_loop(struct hf_client *client)
{
    struct pollfd waits = { .fd = hf_fd(client), .events = POLLIN };

    poll(&waits, 1, hf_timeout_ms(client));
    must(hf_process(client), "hf_process", client);
}

static void join_line(struct hf_client *client, struct hf_lock **ret)
{
    must(hf_mutex(client, "S4", ret), "hf_mutex", client);
    must(hf_acquire_start(*ret, -1), "hf_acquire_start", client);
}

static unsigned long drain(size_t waiters)
{
    struct hf_client *client = loop_client(pass_on, NULL);
    struct hf_lock  **lock = calloc(waiters, sizeof(struct hf_lock *));

    must(lock == NULL ? HF_ENOMEM : 0, "calloc", NULL);
    drained = 0;
    join_line(client, &holder);
    while (hf_state(holder) != HF_HELD)
        turn_loop(client);
    for (size_t i = 0; i < waiters; i++)
        join_line(client, &lock[i]);
    for (size_t i = 0; i < waiters; i++)
        while (hf_ahead(lock[i]) < 0)
            turn_loop(client);
    must(hf_release_start(holder), "hf_release_start", client);
    while (drained <= waiters)
        turn_loop(client);
    for (size_t i = 0; i < waiters; i++)
        hf_lock_free(lock[i]);
    hf_lock_free(holder);
    free(lock);
    hf_close(client);
    return waiters;
}

/* ---- Many sessions in one thread ---------------------------------------------------- */

struct looper {
    struct hf_client *client;
    struct hf_lock   *lock[2];
    double            end;
    unsigned long     count;
    bool              stopped; /* the time is over, and nothing is held or wished for */
};

/* Give it back, and queue again with the other handle in the same breath. */
static void take_next(struct hf_lock *lock, enum hf_state state, int why, void *data)
{
    struct looper *l = data;

    must(why, "S6", NULL);
    if (state != HF_HELD)
        return;
    must(hf_release_start(lock), "hf_release_start", l->client);
    l->count++;
    l->stopped = now() >= l->end;
    if (!l->stopped)
        must(hf_acquire_start(l->lock[l->lock[0] == lock], -1), "hf_acquire_start",
             l->client);
}

static int shortest(int a, int b)
{
    return a < 0 || (b >= 0 && b < a) ? b : a;
}

static void turn_loops(struct looper *l, struct pollfd *waits, size_t count)
{
    int limit = -1;

    for (size_t i = 0; i < count; i++) {
        waits[i] = (struct pollfd){ .fd = hf_fd(l[i].client), .events = POLLIN };
        limit = shortest(limit, hf_timeout_ms(l[i].client));
    }
    poll(waits, count, limit);
    for (size_t i = 0; i < count; i++)
        if (waits[i].revents != 0 || hf_timeout_ms(l[i].client) == 0)
            must(hf_process(l[i].client), "hf_process", l[i].client);
}

static unsigned long loop(size_t count, double seconds)
{
    struct looper l[SESSIONS] = { 0 };
    struct pollfd waits[SESSIONS];
    unsigned long turns = 0;
    size_t        stopped = 0;

    must(count > SESSIONS ? HF_EINVAL : 0, "sessions", NULL);
    for (size_t i = 0; i < count; i++) {
        l[i].end = now() + seconds;
        l[i].client = loop_client(take_next, &l[i]);
        for (int k = 0; k < 2; k++)
            must(hf_mutex(l[i].client, "S6", &l[i].lock[k]), "hf_mutex", l[i].client);
        must(hf_acquire_start(l[i].lock[0], -1), "hf_acquire_start", l[i].client);
    }
    while (stopped < count) {
        turn_loops(l, waits, count);
        stopped = 0;
        for (size_t i = 0; i < count; i++)
            stopped += l[i].stopped;
    }
    for (size_t i = 0; i < count; i++) {
        turns += l[i].count;
        hf_close(l[i].client);
    }
    return turns;
}

static unsigned long run(const char *scenario, double size)
{
    if (strncmp(scenario, "S4", 2) == 0)
        return drain((size_t)size);
    if (strncmp(scenario, "S6:", 3) == 0)
        return loop(strtoul(scenario + 3, NULL, 10), size);
    return repeat(scenario, size);
}

int main(int argc, char **argv)
{
    char   scenario[32];
    double size;

    if (argc != 2) {
        fprintf(stderr, "usage: %s URL\n", argv[0]);
        return 2;
    }
    url = argv[1];
    while (scanf("%31s %lf", scenario, &size) == 2) {
        double        start = now();
        unsigned long count = run(scenario, size);
        printf("%s %lu %f\n", scenario, count, now() - start);
        fflush(stdout);
    }
    for (size_t i = 0; i < SESSIONS; i++)
        hf_close(sessions[i]);
    return 0;
}
