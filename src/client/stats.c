/* stats.c - see stats.h. */
#include "client/stats.h"

#include "client/lock.h"

#include <assert.h>
#include <string.h>

static void record(struct hf_histogram *histogram, hf_time took)
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

static void count_failure(struct hf_stats *stats, int why)
{
    if (why == HF_EBUSY)
        stats->busy++;
    else if (why == HF_ETIMEOUT)
        stats->timeouts++;
    else if (why == HF_ECANCELED)
        stats->canceled++;
    else
        stats->failed++;
}

void hf_stats_count(struct hf_lock *lock, enum hf_state before, enum hf_state after,
                    int why)
{
    struct hf_counts *counts = &lock->counts;
    struct hf_stats  *stats = &counts->stats;
    hf_time           now = hf_now();

    assert(before != after);
    assert(before != HF_LOST || after != HF_HELD); /* lost stays lost */
    if (after == HF_WAITING)
        counts->wished = now;
    if (before == HF_WAITING && after != HF_HELD)
        count_failure(stats, why);
    if (after == HF_HELD) {
        stats->acquired++;
        /* A reader under its own thread's lock never waited. */
        record(&stats->wait, before == HF_WAITING ? now - counts->wished : 0);
        counts->held = now;
    }
    if (before == HF_HELD)
        record(&stats->hold, now - counts->held);
    if (after == HF_LOST)
        stats->lost++;
    else if (before == HF_HELD)
        stats->released++;
}

void hf_get_stats(struct hf_lock *lock, struct hf_stats *ret, size_t size)
{
    struct hf_stats stats = { 0 };
    int             cancel;

    if (hf_client_begin(lock->client, &cancel) == 0) {
        stats = lock->counts.stats;
        hf_client_end(lock->client, cancel);
    }
    /* The caller's struct may be of an older header, or of a newer one. */
    memset(ret, 0, size);
    memcpy(ret, &stats, size < sizeof stats ? size : sizeof stats);
}
