/* bench_tally.c - see bench_tally.h. */
#include "bench_tally.h"

#include <assert.h>

/* Up to 128 each length has a step; then 128 steps for each power of two. */
static size_t step_of(int64_t ns)
{
    unsigned octave = 0;

    assert(ns >= 0);
    while (ns >> octave >= 2 * TALLY_STEPS)
        octave++;
    if (ns < TALLY_STEPS)
        return (size_t)ns;
    size_t step = octave * TALLY_STEPS + (size_t)(ns >> octave);
    return step < TALLY_SIZE ? step : TALLY_SIZE - 1;
}

/* The middle of a step. */
static int64_t length_of(size_t step)
{
    if (step < 2 * (size_t)TALLY_STEPS)
        return (int64_t)step;
    unsigned octave = (unsigned)(step / TALLY_STEPS - 1);
    int64_t  first = (int64_t)(step - (size_t)octave * TALLY_STEPS) << octave;
    return first + ((int64_t)1 << octave) / 2;
}

void tally_add(struct tally *tally, int64_t ns)
{
    tally->count++;
    tally->step[step_of(ns)]++;
    if (ns > tally->max)
        tally->max = ns;
}

void tally_merge(struct tally *into, const struct tally *from)
{
    into->count += from->count;
    for (size_t i = 0; i < TALLY_SIZE; i++)
        into->step[i] += from->step[i];
    if (from->max > into->max)
        into->max = from->max;
}

int64_t tally_percentile(const struct tally *tally, unsigned percent)
{
    uint64_t wanted = (tally->count * percent + 99) / 100, seen = 0;

    assert(percent > 0 && percent <= 100);
    for (size_t i = 0; i < TALLY_SIZE && tally->count > 0; i++) {
        seen += tally->step[i];
        if (seen >= wanted)
            return length_of(i) < tally->max ? length_of(i) : tally->max;
    }
    return 0;
}

uint64_t tally_between(const struct tally *tally, int64_t from, int64_t to)
{
    uint64_t count = 0;

    for (size_t i = 0; i < TALLY_SIZE; i++)
        if (length_of(i) >= from && length_of(i) < to)
            count += tally->step[i];
    return count;
}
