/* lease.c - see lease.h. */
#include "core/lease.h"

#include <assert.h>

#define RATE 500 /* 1/rho */

hf_time hf_lease_shorter(hf_time ttl)
{
    return ttl - ttl / RATE - (ttl % RATE != 0);
}

hf_time hf_lease_longer(hf_time ttl)
{
    return ttl + ttl / RATE + (ttl % RATE != 0);
}

hf_time hf_lease_deadline(hf_time sent, hf_time ttl, hf_time guard)
{
    assert(ttl > 0 && guard >= 0);
    return sent + hf_lease_shorter(ttl) - guard;
}

hf_time hf_lease_stale_at(hf_time answered, hf_time ttl)
{
    assert(ttl > 0);
    return answered + hf_lease_longer(ttl);
}

void hf_lease_quorum_init(struct hf_lease_quorum *lease, hf_time timeout, hf_time guard)
{
    assert(timeout > 0 && guard >= 0);
    *lease =
        (struct hf_lease_quorum){ .timeout = timeout, .guard = guard, .connect = -1 };
}

void hf_lease_quorum_connected(struct hf_lease_quorum *lease, hf_time sent,
                               hf_time answered)
{
    assert(sent <= answered);
    lease->connect = sent;
    lease->count = 0;
}

static struct hf_lease_mark *mark_at(struct hf_lease_quorum *lease, size_t number)
{
    return &lease->mark[number % HF_LEASE_MARKS];
}

/* The newest request surely known to the leader, given a write sent at `sent`. */
static hf_time proven(struct hf_lease_quorum *lease, hf_time sent)
{
    size_t  oldest = lease->count < HF_LEASE_MARKS ? 0 : lease->count - HF_LEASE_MARKS;
    hf_time slowest = 0;

    for (size_t i = lease->count; i-- > oldest;) {
        const struct hf_lease_mark *mark = mark_at(lease, i);
        if (mark->slowest > slowest)
            slowest = mark->slowest;
        hf_time gap = lease->timeout / 4 + 2 * slowest + 20 * HF_MS;
        if (mark->answered + gap <= sent)
            return mark->sent;
    }
    return lease->connect;
}

/* Marks closer together than T/32 are not worth a place in the ring, so that
 * it always reaches back further than the gap. */
static void remember(struct hf_lease_quorum *lease, hf_time sent, hf_time answered)
{
    hf_time least = lease->timeout / (HF_LEASE_MARKS / 2);
    hf_time took = answered - sent;

    if (lease->count > 0) {
        struct hf_lease_mark *last = mark_at(lease, lease->count - 1);
        if (sent - last->sent < least) {
            if (took > last->slowest)
                last->slowest = took;
            return;
        }
    }
    *mark_at(lease, lease->count++) = (struct hf_lease_mark){ sent, answered, took };
}

void hf_lease_quorum_answered(struct hf_lease_quorum *lease, hf_time sent,
                              hf_time answered, bool committed)
{
    assert(sent <= answered);
    remember(lease, sent, answered);
    if (!committed)
        return;

    hf_time since = proven(lease, sent);
    if (since < 0)
        return;
    hf_time deadline = hf_lease_deadline(since, lease->timeout, lease->guard);
    if (deadline > lease->deadline) /* each one proven, so the latest holds */
        lease->deadline = deadline;
}
