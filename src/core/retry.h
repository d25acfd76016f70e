/* retry.h - how long to wait before trying again.
 *
 * Pure and seeded.  Delays double from `least` to `most`; each is drawn between
 * half of itself and itself, so that many clients do not retry at the same time.
 */
#ifndef HF_RETRY_H
#define HF_RETRY_H

#include "base/clock.h"

struct hf_retry {
    hf_time  least;
    hf_time  most;
    uint64_t seed;
    unsigned tries; /* failures in a row */
};

void hf_retry_init(struct hf_retry *retry, hf_time least, hf_time most, uint64_t seed);

/* After a failure: the delay before the next try. */
hf_time hf_retry_next(struct hf_retry *retry);

/* After a success. */
void hf_retry_reset(struct hf_retry *retry);

#endif
