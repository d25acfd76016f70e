/* retry.c - see retry.h. */
#include "core/retry.h"

#include "base/random.h"

#include <assert.h>

void hf_retry_init(struct hf_retry *retry, hf_time least, hf_time most, uint64_t seed)
{
    assert(least > 0 && least <= most);
    *retry = (struct hf_retry){ .least = least, .most = most, .seed = seed };
}

hf_time hf_retry_next(struct hf_retry *retry)
{
    hf_time delay = retry->most;

    if (retry->tries < 32 && retry->least < retry->most >> retry->tries)
        delay = retry->least << retry->tries;
    retry->tries++;

    uint64_t half = (uint64_t)delay / 2;
    return delay - (hf_time)(hf_random_next(&retry->seed) % (half + 1));
}

void hf_retry_reset(struct hf_retry *retry)
{
    retry->tries = 0;
}
