/* lease.c - see lease.h. */
#include "core/lease.h"

#include <assert.h>

#define RATE 500 /* 1/rho */

static hf_time later(hf_time a, hf_time b)
{
    return a > b ? a : b;
}

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
                               hf_time answered, hf_time timeout)
{
    assert(sent <= answered && timeout > 0);
    lease->connect = sent;
    lease->count = 0;
    if (timeout >= lease->timeout)
        return;
    lease->timeout = timeout;
    hf_time deadline = hf_lease_deadline(sent, timeout, lease->guard);
    if (deadline < lease->deadline) {
        lease->deadline = deadline;
        lease->since = sent;
    }
}

static const struct hf_lease_mark *mark_at(const struct hf_lease_quorum *lease,
                                           size_t                        number)
{
    return &lease->mark[number % HF_LEASE_MARKS];
}

static size_t oldest(const struct hf_lease_quorum *lease)
{
    return lease->count < HF_LEASE_MARKS ? 0 : lease->count - HF_LEASE_MARKS;
}

/* When a write can prove this mark; `slowest` is the longest round trip since. */
static hf_time provable_at(const struct hf_lease_quorum *lease,
                           const struct hf_lease_mark *mark, hf_time slowest)
{
    return mark->answered + lease->timeout / 4 + 2 * slowest + 20 * HF_MS;
}

/* When the newest request was sent that the leader certainly knows of, given a write
 * sent at `sent`. */
static hf_time proven(const struct hf_lease_quorum *lease, hf_time sent)
{
    hf_time slowest = 0;

    for (size_t i = lease->count; i-- > oldest(lease);) {
        const struct hf_lease_mark *mark = mark_at(lease, i);
        slowest = later(slowest, mark->slowest);
        if (provable_at(lease, mark, slowest) <= sent)
            return mark->sent;
    }
    return lease->connect;
}

/* Marks closer together than T/32 are merged, so that the ring always reaches back
 * further than the gap. */
static void remember_answer(struct hf_lease_quorum *lease, hf_time sent, hf_time answered)
{
    hf_time least = lease->timeout / (HF_LEASE_MARKS / 2);
    hf_time took = answered - sent;

    if (lease->count > 0) {
        struct hf_lease_mark *last = &lease->mark[(lease->count - 1) % HF_LEASE_MARKS];
        if (sent - last->sent < least) {
            if (took > last->slowest)
                last->slowest = took;
            return;
        }
    }
    lease->mark[lease->count++ % HF_LEASE_MARKS] =
        (struct hf_lease_mark){ sent, answered, took };
}

void hf_lease_quorum_answered(struct hf_lease_quorum *lease, hf_time sent,
                              hf_time answered, bool committed)
{
    assert(sent <= answered);
    remember_answer(lease, sent, answered);
    if (!committed)
        return;

    hf_time since = proven(lease, sent);
    if (since < 0)
        return;
    hf_time deadline = hf_lease_deadline(since, lease->timeout, lease->guard);
    if (deadline > lease->deadline) { /* both are proven: the later one counts */
        lease->deadline = deadline;
        lease->since = since;
    }
}

/* When a write can move the deadline; HF_NEVER: there is no mark that it could prove. */
static hf_time movable_at(const struct hf_lease_quorum *lease)
{
    hf_time slowest = 0, soonest = HF_NEVER;

    for (size_t i = lease->count; i-- > oldest(lease);) {
        const struct hf_lease_mark *mark = mark_at(lease, i);
        if (mark->sent <= lease->since)
            break;
        slowest = later(slowest, mark->slowest);
        soonest = hf_sooner(soonest, provable_at(lease, mark, slowest));
    }
    return soonest;
}

/* When a write can prove the one before the last; 0: that is proven already. */
static hf_time previous_at(const struct hf_lease_quorum *lease, hf_time last)
{
    hf_time slowest = 0;

    for (size_t i = lease->count; i-- > oldest(lease);) {
        const struct hf_lease_mark *mark = mark_at(lease, i);
        slowest = later(slowest, mark->slowest);
        if (mark->sent <= last - lease->timeout / 10)
            return mark->sent > lease->since ? provable_at(lease, mark, slowest) : 0;
    }
    return 0;
}

/* At the usual pace; or sooner, if the deadline is near and can be moved. */
hf_time hf_lease_quorum_write_at(const struct hf_lease_quorum *lease, hf_time last)
{
    hf_time least = last + lease->timeout * 2 / 15;
    hf_time most = last + lease->timeout * 3 / 16;
    hf_time pace = later(least, hf_sooner(previous_at(lease, last), most));
    hf_time need = lease->deadline - lease->timeout * 7 / 12;

    return hf_sooner(pace,
                     later(last + lease->timeout / 32, later(need, movable_at(lease))));
}

hf_time hf_lease_quorum_connect_at(const struct hf_lease_quorum *lease, bool busy)
{
    hf_time late = lease->deadline - lease->timeout * 3 / 8;
    hf_time movable = movable_at(lease);

    return !busy && movable != HF_NEVER && movable > late ? 0 : late;
}
