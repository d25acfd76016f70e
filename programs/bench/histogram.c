/* histogram.c - see histogram.h. */
#include "histogram.h"

#include <assert.h>

/* Up to 128 each length has a step; then 128 steps for each power of two. */
static size_t step_of(int64_t ns)
{
    unsigned octave = 0;

    assert(ns >= 0);
    while (ns >> octave >= 2 * HISTOGRAM_STEPS)
        octave++;
    if (ns < HISTOGRAM_STEPS)
        return (size_t)ns;
    size_t step = octave * HISTOGRAM_STEPS + (size_t)(ns >> octave);
    return step < HISTOGRAM_SIZE ? step : HISTOGRAM_SIZE - 1;
}

/* The middle of a step. */
static int64_t length_of(size_t step)
{
    if (step < 2 * (size_t)HISTOGRAM_STEPS)
        return (int64_t)step;
    unsigned octave = (unsigned)(step / HISTOGRAM_STEPS - 1);
    int64_t  first = (int64_t)(step - (size_t)octave * HISTOGRAM_STEPS) << octave;
    return first + ((int64_t)1 << octave) / 2;
}

void histogram_add(struct histogram *histogram, int64_t ns)
{
    histogram->count++;
    histogram->step[step_of(ns)]++;
    if (ns > histogram->max)
        histogram->max = ns;
}

void histogram_merge(struct histogram *into, const struct histogram *from)
{
    into->count += from->count;
    for (size_t i = 0; i < HISTOGRAM_SIZE; i++)
        into->step[i] += from->step[i];
    if (from->max > into->max)
        into->max = from->max;
}

int64_t histogram_percentile(const struct histogram *histogram, unsigned percent)
{
    uint64_t wanted = (histogram->count * percent + 99) / 100, seen = 0;

    assert(percent > 0 && percent <= 100);
    for (size_t i = 0; i < HISTOGRAM_SIZE && histogram->count > 0; i++) {
        seen += histogram->step[i];
        if (seen >= wanted)
            return length_of(i) < histogram->max ? length_of(i) : histogram->max;
    }
    return 0;
}

uint64_t histogram_between(const struct histogram *histogram, int64_t from, int64_t to)
{
    uint64_t count = 0;

    for (size_t i = 0; i < HISTOGRAM_SIZE; i++)
        if (length_of(i) >= from && length_of(i) < to)
            count += histogram->step[i];
    return count;
}
