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
static void note_left(struct hf_stats *stats, hf_time until, hf_time now)
{
    if (until == HF_NEVER)
        return;
    int64_t left = until > now ? (until - now) / 1000 : 0;
    if (left < stats->least_left)
        stats->least_left = left;
}

void hf_stats_init(struct hf_stats *stats)
{
    stats->least_left = INT64_MAX;
}

void hf_stats_renewed(struct hf_client *client)
{
    hf_time now = hf_now();
    hf_time until = atomic_load(&client->alive_until);
    bool    held = client->held != NULL;

    for (struct hf_lock *lock = client->held; lock != NULL;
         lock = hf_lock_next(lock, HF_LIST_HELD))
        note_left(&lock->counts.stats, until, now);
    if (held)
        note_left(&client->all_stats, until, now);
    client->stats.renewals += held;
    client->stats.late += held && until - now < client->store->lease / 2;
}

void hf_stats_publish(struct hf_client *client)
{
    client->stats.connected = client->engine.connects;
    client->stats.lost = client->engine.losses;
    client->stats.round_trip = client->engine.round_trip;
}

/* A handle that changes from one state to another. */
struct change {
    enum hf_state before, after;
    int           why;
    hf_time       waited, held; /* for how long, if it did */
    bool          ends;         /* a hold: only the answer to a release tells how */
    bool          lost, broken;
};

static void count(struct hf_stats *stats, const struct change *change)
{
    if (change->before == HF_WAITING && change->after != HF_HELD)
        count_failure(stats, change->why);
    if (change->after == HF_HELD) {
        stats->acquired++;
        hf_histogram_add(&stats->wait, change->waited);
    }
    if (change->ends) {
        stats->released += !change->lost;
        hf_histogram_add(&stats->hold, change->held);
    }
    stats->lost += change->lost;
    stats->broken += change->broken;
}

/* Does a hold end, and how?  The place may be gone, and only the answer to the release
 * tells: then the lock was lost. */
static void end_hold(struct hf_lock *lock, struct change *change, hf_time now)
{
    struct hf_counts *counts = &lock->counts;
    bool              answered = change->before == HF_LEAVING && counts->left != 0;

    change->held = (answered ? counts->left : now) - counts->held;
    change->ends = answered || (change->before == HF_HELD && change->after != HF_LEAVING);
    change->lost = change->after == HF_LOST || (answered && change->why == HF_ELOST);
    /* Its place was gone, but its session lived. */
    change->broken = change->lost && (answered || lock->job.hold.away) &&
                     counts->losses == lock->client->engine.losses;
    counts->left = change->before == HF_HELD && change->after == HF_LEAVING ? now : 0;
}

void hf_stats_count(struct hf_lock *lock, enum hf_state before, enum hf_state after,
                    int why)
{
    struct hf_counts *counts = &lock->counts;
    struct hf_client *client = lock->client;
    hf_time           now = hf_now(), until = atomic_load(&client->alive_until);

    assert(before != after);
    assert(before != HF_LOST || after != HF_HELD); /* lost stays lost */
    struct change change = {
        .before = before,
        .after = after,
        .why = why,
        /* An inner handle never waited. */
        .waited = before == HF_WAITING ? now - counts->wanted : 0,
    };
    end_hold(lock, &change, now);
    if (before == HF_HELD) {
        note_left(&counts->stats, until, now);
        note_left(&client->all_stats, until, now);
    }
    count(&counts->stats, &change);
    count(&client->all_stats, &change);
    if (after == HF_WAITING)
        counts->wanted = now;
    if (after == HF_HELD) {
        counts->held = now;
        counts->losses = client->engine.losses;
    }
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

void hf_get_all_stats(struct hf_client *client, struct hf_stats *ret, size_t size)
{
    struct hf_stats stats = { 0 };
    int             cancel;

    if (hf_client_begin(client, &cancel) == 0) {
        stats = client->all_stats;
        hf_client_end(client, cancel);
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
