/* histogram.h - how long something took: a count for each length of time.
 *
 * Lengths are rounded to one part in 128.  So a histogram never grows, and those of
 * several processes can be added up.
 */
#ifndef HISTOGRAM_H
#define HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

#define HISTOGRAM_STEPS   128 /* for each power of two */
#define HISTOGRAM_OCTAVES 34  /* above that: up to 2^41 ns, half an hour */
#define HISTOGRAM_SIZE    ((HISTOGRAM_OCTAVES + 1) * HISTOGRAM_STEPS)

struct histogram {
    uint64_t count;
    int64_t  max; /* exact; ns, as all here */
    uint32_t step[HISTOGRAM_SIZE];
};

void histogram_add(struct histogram *histogram, int64_t ns);

/* Add the counts of `from` to those of `into`. */
void histogram_merge(struct histogram *into, const struct histogram *from);

/* The length that `percent` of them did not exceed; 0 if there are none. */
int64_t histogram_percentile(const struct histogram *histogram, unsigned percent);

/* How many took at least `from` and less than `to`. */
uint64_t histogram_between(const struct histogram *histogram, int64_t from, int64_t to);

#endif
