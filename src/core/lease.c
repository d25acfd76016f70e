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
    lease->slowest = answered - sent;
}

/* The newest request surely known to the leader, given a write sent at `sent`. */
static hf_time proven(const struct hf_lease_quorum *lease, hf_time sent)
{
    hf_time delta = 2 * lease->slowest + 20 * HF_MS;
    hf_time latest = sent - lease->timeout / 4 - delta;
    hf_time best = lease->connect;
    size_t  kept = lease->count < HF_LEASE_MARKS ? lease->count : HF_LEASE_MARKS;

    for (size_t i = 0; i < kept; i++) {
        const struct hf_lease_mark *mark = &lease->mark[i];
        if (mark->answered <= latest && mark->sent > best)
            best = mark->sent;
    }
    return best;
}

/* Marks closer together than this are not worth a place in the ring, so that
 * the ring always reaches back further than T/4 + delta. */
static bool worth_keeping(const struct hf_lease_quorum *lease, hf_time sent)
{
    if (lease->count == 0)
        return true;
    const struct hf_lease_mark *last = &lease->mark[(lease->count - 1) % HF_LEASE_MARKS];
    return sent - last->sent >= lease->timeout / (HF_LEASE_MARKS / 2);
}

void hf_lease_quorum_answered(struct hf_lease_quorum *lease, hf_time sent,
                              hf_time answered, bool committed)
{
    assert(sent <= answered);
    if (answered - sent > lease->slowest)
        lease->slowest = answered - sent;
    if (worth_keeping(lease, sent))
        lease->mark[lease->count++ % HF_LEASE_MARKS] =
            (struct hf_lease_mark){ sent, answered };
    if (!committed)
        return;

    hf_time since = proven(lease, sent);
    if (since < 0)
        return;
    hf_time deadline = hf_lease_deadline(since, lease->timeout, lease->guard);
    if (deadline > lease->deadline) /* each one proven, so the latest holds */
        lease->deadline = deadline;
}
