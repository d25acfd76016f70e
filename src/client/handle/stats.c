/* stats.c - counters of handles and clients. */
#include "client/handle/lock.h"

#include <assert.h>
#include <string.h>

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

/* How much of the lease is left, just before it is renewed or the lock is released. */
static void note_left(struct hf_lock *lock, hf_time now)
{
    hf_time  until = atomic_load(&lock->client->alive_until);
    int64_t *least = &lock->counts.stats.least_left;

    if (until == HF_NEVER)
        return;
    int64_t left = until > now ? (until - now) / 1000 : 0;
    if (left < *least)
        *least = left;
}

/* Its place was gone, but its session lived. */
static bool was_broken(const struct hf_lock *lock)
{
    return lock->job.hold.away && lock->counts.losses == lock->client->engine.losses;
}

void hf_stats_init(struct hf_counts *counts)
{
    counts->stats.least_left = INT64_MAX;
}

void hf_stats_renewed(struct hf_client *client)
{
    hf_time now = hf_now();
    hf_time left = atomic_load(&client->alive_until) - now;
    bool    held = client->held != NULL;

    for (struct hf_lock *lock = client->held; lock != NULL;
         lock = hf_lock_next(lock, HF_LIST_HELD))
        note_left(lock, now);
    client->stats.renewals += held;
    client->stats.late += held && left < client->store->lease / 2;
}

void hf_stats_publish(struct hf_client *client)
{
    client->stats.connected = client->engine.connects;
    client->stats.lost = client->engine.losses;
    client->stats.round_trip = client->engine.round_trip;
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
        counts->wanted = now;
    if (before == HF_WAITING && after != HF_HELD)
        count_failure(stats, why);
    if (after == HF_HELD) {
        stats->acquired++;
        /* An inner handle never waited. */
        hf_histogram_add(&stats->wait, before == HF_WAITING ? now - counts->wanted : 0);
        counts->held = now;
        counts->losses = lock->client->engine.losses;
    }
    if (before == HF_HELD)
        note_left(lock, now);
    if (before == HF_HELD)
        hf_histogram_add(&stats->hold, now - counts->held);
    if (after == HF_LOST) {
        stats->lost++;
        stats->broken += was_broken(lock);
    } else if (before == HF_HELD)
        stats->released++;
}

/* The caller's struct may come from an older header, or from a newer one. */
static void copy_stats(const void *stats, size_t known, void *ret, size_t size)
{
    if (ret == NULL)
        return;
    memset(ret, 0, size);
    memcpy(ret, stats, size < known ? size : known);
}

void hf_get_stats(struct hf_lock *lock, struct hf_stats *ret, size_t size)
{
    struct hf_stats stats = { 0 };
    int             cancel;

    if (hf_client_begin(hf_lock_client(lock), &cancel) == 0) {
        stats = lock->counts.stats;
        hf_client_end(lock->client, cancel);
    }
    copy_stats(&stats, sizeof stats, ret, size);
}

void hf_get_client_stats(struct hf_client *client, struct hf_client_stats *ret,
                         size_t size)
{
    struct hf_client_stats stats = { 0 };
    int                    cancel;

    if (hf_client_begin(client, &cancel) == 0) {
        stats = client->stats;
        hf_client_end(client, cancel);
    }
    copy_stats(&stats, sizeof stats, ret, size);
}
