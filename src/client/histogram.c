/* histogram.c - see histogram.h. */
#include "client/histogram.h"

#include <assert.h>

void hf_histogram_add(struct hf_histogram *histogram, hf_time took)
{
    uint64_t us = took > 0 ? (uint64_t)took / 1000 : 0;
    unsigned bucket = 0;

    while (bucket < HF_BUCKETS - 1 && us >> bucket != 0)
        bucket++;
    assert(bucket < HF_BUCKETS);
    histogram->bucket[bucket]++;
    histogram->count++;
    histogram->total_us += us;
    if (us > histogram->max_us)
        histogram->max_us = us;
}
