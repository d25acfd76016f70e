/* bench_tally.h - how long things took: a count for each length.
 *
 * Lengths are kept to within one part in 128, whatever they are, so that a tally never
 * grows, and those of several processes can be added up.
 */
#ifndef BENCH_TALLY_H
#define BENCH_TALLY_H

#include <stddef.h>
#include <stdint.h>

#define TALLY_STEPS   128 /* for each power of two */
#define TALLY_OCTAVES 34  /* above that: up to 2^41 ns, half an hour */
#define TALLY_SIZE    ((TALLY_OCTAVES + 1) * TALLY_STEPS)

struct tally {
    uint64_t count;
    int64_t  max; /* exact; ns, as all here */
    uint32_t step[TALLY_SIZE];
};

void tally_add(struct tally *tally, int64_t ns);

/* What `from` has is in `into`, too. */
void tally_merge(struct tally *into, const struct tally *from);

/* So many percent took no longer; 0 if there is nothing. */
int64_t tally_percentile(const struct tally *tally, unsigned percent);

/* How many took at least `from` and less than `to`. */
uint64_t tally_between(const struct tally *tally, int64_t from, int64_t to);

#endif
