/* common.h - shared by the programs of the benchmarks. */
#ifndef BENCH_COMMON_H
#define BENCH_COMMON_H

#include "holdfast.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PATIENCE_MS 20000 /* longer than anything here takes */

static inline double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static inline void pause_us(long us)
{
    struct timespec t = { .tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000 };

    if (us > 0)
        nanosleep(&t, NULL);
}

static inline void must(int ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "bench: %s failed\n", what);
    exit(1);
}

static inline void must_hf(int r, const char *what, struct hf_client *client)
{
    if (r >= 0)
        return;
    fprintf(stderr, "bench: %s: %s: %s\n", what, hf_errname(r),
            client != NULL ? hf_errmsg(client) : "");
    exit(1);
}

static inline struct hf_client *open_with(const char *url, struct hf_options options)
{
    struct hf_client *client = NULL;
    char              error[256] = "";

    options.error = error;
    options.error_size = sizeof error;
    if (hf_open(url, &options, &client) < 0) {
        fprintf(stderr, "bench: hf_open: %s\n", error);
        exit(1);
    }
    return client;
}

static inline struct hf_client *open_client(const char *url, unsigned flags)
{
    struct hf_options options = HF_OPTIONS_INIT;

    options.flags = flags;
    return open_with(url, options);
}

/* One round of our own event loop; returns the result of poll. */
static inline int turn_loop(struct hf_client *client)
{
    struct pollfd waits = { .fd = hf_fd(client), .events = POLLIN };
    int           limit = hf_timeout_ms(client);
    int           r = poll(&waits, 1, limit < 0 ? PATIENCE_MS : limit);

    must_hf(hf_process(client), "hf_process", client);
    return r;
}

static inline int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Sorts the values. */
static inline double percentile(double *values, size_t count, double p)
{
    if (count == 0)
        return 0;
    qsort(values, count, sizeof *values, ascending);
    return values[(size_t)((double)(count - 1) * p)];
}

#endif
