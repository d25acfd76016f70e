/* cycle.h - a free lock by Holdfast, beside other things that are done once at a time.
 *
 * A program says in `things` what it can do, and calls cycle_serve(): "WHAT COUNT PAUSE" on
 * stdin is done so many times, PAUSE microseconds apart, and answered by "WHAT COUNT SECONDS
 * P50 P99".
 */
#ifndef BENCH_CYCLE_H
#define BENCH_CYCLE_H

#include "bench/common.h"

#include <string.h>

struct thing {
    const char *name;
    void (*once)(void);
    void (*after)(void); /* not measured; NULL: nothing */
};

static struct hf_client *with_keeper, *without;
static struct hf_lock   *mutex, *other, *in_loop;
static uint64_t          last_token; /* of `mutex` and `other` */

static void check_token(struct hf_lock *lock)
{
    must(hf_token(lock) > last_token, "ascending token");
    last_token = hf_token(lock);
}

static void cycle(void)
{
    must_hf(hf_acquire(mutex, PATIENCE_MS), "hf_acquire", with_keeper);
    check_token(mutex);
    must_hf(hf_release(mutex), "hf_release", with_keeper);
}

/* The other handle is free again when its turn comes. */
static void eager(void)
{
    static unsigned long count;
    struct hf_lock      *lock = count++ % 2 ? mutex : other;

    must_hf(hf_acquire(lock, PATIENCE_MS), "hf_acquire", with_keeper);
    check_token(lock);
    must_hf(hf_release_start(lock), "hf_release_start", with_keeper);
}

static void loop(void)
{
    must_hf(hf_acquire_start(in_loop, PATIENCE_MS), "hf_acquire_start", without);
    while (hf_state(in_loop) == HF_WAITING)
        turn_loop(without);
    must(hf_state(in_loop) == HF_HELD, "acquire by a loop");
    must_hf(hf_release_start(in_loop), "hf_release_start", without);
    while (hf_state(in_loop) == HF_LEAVING)
        turn_loop(without);
    must(hf_state(in_loop) == HF_IDLE, "release by a loop");
}

static void cycle_run(const struct thing *thing, size_t count, long pause)
{
    double *took = calloc(count + 1, sizeof *took);

    must(took != NULL, "calloc");
    double start = now_us();
    for (size_t i = 0; i < count; i++) {
        pause_us(pause);
        double begin = now_us();
        thing->once();
        took[i] = now_us() - begin;
        if (thing->after != NULL)
            thing->after();
    }
    double seconds = (now_us() - start) / 1e6;
    if (thing->once == eager) /* what is on its way is answered before this is */
        cycle();
    printf("%s %zu %.6f %.2f %.2f\n", thing->name, count, seconds,
           percentile(took, count, 0.5), percentile(took, count, 0.99));
    fflush(stdout);
    free(took);
}

static void cycle_serve(const char *url, const struct thing *things, size_t size)
{
    char   what[32];
    size_t count;
    long   pause;

    with_keeper = open_client(url, 0);
    without = open_client(url, HF_NO_KEEPER);
    must_hf(hf_mutex(with_keeper, "cycle", &mutex), "hf_mutex", with_keeper);
    must_hf(hf_mutex(with_keeper, "cycle", &other), "hf_mutex", with_keeper);
    must_hf(hf_mutex(without, "loop", &in_loop), "hf_mutex", without);
    while (scanf("%31s %zu %ld", what, &count, &pause) == 3) {
        size_t i = 0;
        while (i < size && strcmp(what, things[i].name) != 0)
            i++;
        must(i < size, what);
        cycle_run(&things[i], count, pause);
    }
    hf_close(with_keeper);
    hf_close(without);
}

#endif
