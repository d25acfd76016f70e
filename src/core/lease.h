/* lease.h - until when this process may safely act as the holder: its deadline D.
 *
 * Pure: times are parameters, all of one clock that never steps and counts
 * while the machine sleeps (CLOCK_BOOTTIME).
 *
 *     s  when a request was sent (read before sending)
 *     a  when its answer was read
 *     rho = 1/500, by how much the rates of two clocks may differ
 *     g  guard: how long it takes us to act on a deadline
 *
 * D never counts from the time an answer arrived: the server may have started counting as
 * early as s.  Nor does it use a wall clock.
 *
 *   none      a kernel lock, not a lease          D = never
 *   lease     Redis; PostgreSQL's holder          D = s + ttl(1-rho) - g
 *   observed  PostgreSQL's contender: a session is dead once we have seen the
 *             same renewal number for ttl(1+rho), counted from the answer
 *   quorum    ZooKeeper, see struct hf_lease_quorum
 */
#ifndef HF_LEASE_H
#define HF_LEASE_H

#include "base/clock.h"

#include <stdbool.h>
#include <stddef.h>

/* A duration, made shorter or longer by as much as clock rates may differ. */
hf_time hf_lease_shorter(hf_time ttl);
hf_time hf_lease_longer(hf_time ttl);

/* The deadline of a holder whose renewal, sent at `sent`, was confirmed. */
hf_time hf_lease_deadline(hf_time sent, hf_time ttl, hf_time guard);

/* When a contender that read a renewal number at `answered`, and no other since, may
 * consider its owner dead. */
hf_time hf_lease_stale_at(hf_time answered, hf_time ttl);

/* ZooKeeper.  The answer to a ping proves nothing: a follower that is cut off keeps
 * answering while the leader has already expired the session.  A committed write proves
 * that everything the follower sent to the leader before it has arrived, and the leader
 * asks its followers at least every T/4.  So with
 *
 *     w  the last committed write on this connection
 *     i  the newest answered request on it with a_i + T/4 + delta <= s_w
 *
 * the leader last heard from us at s_i or later:  D = s_i + T(1-rho) - g.
 * Connecting goes through to the leader, so as an i it needs no gap.
 *
 * delta = 2 x the longest round trip from i to w, both included, + 20 ms, is the time
 * that the leader's question may take to reach the follower.  Older round trips do not
 * matter.  The question that must arrive between a_i and s_w was sent at most T/4 after
 * a_i.  If it arrives after s_w, it has been under way for delta.  Messages of the
 * leader arrive in order, so a write that was answered meanwhile was late as well, and
 * we noticed.  So a slow answer widens the gap only while it lies in it.
 *
 * T is the shortest timeout that the session ever had.  Servers may allow different
 * ones.  After a new connection the leader uses the new timeout; late messages from the
 * old server use the old one; and a new leader uses the one that the session was
 * created with.  If the new timeout is shorter, the leader may have begun to count it
 * when connecting was sent, so the deadline moves closer.
 *
 * When to write.  Right after a write at most 3/4 T are left, because it proves a
 * request that is a gap old.  With h from one write to the next, 3/4 T - h are left
 * just before a write, if each write comes just a gap after an earlier one.  With two
 * writes in each gap:
 *
 *      w0      w1      w2      w3      w4        w2 proves w0, w3 proves w1, ...
 *       |------ gap -----|
 *               |------ gap -----|
 *
 * h = 2/15 T is a little more than half of T/4, so that a write may be answered late by
 * 1/120 T and still prove something.  If answers take longer, each write waits until it
 * can prove the one before the last.  After a write that proved nothing, the next one
 * follows as soon as it can prove something.
 *
 * Reconnecting proves most: after it T is left.  It is worth its cost if even the next
 * write that can move the deadline would leave less than 3/8 T: after a late answer,
 * which widens the gap, or when no answer comes. */
#define HF_LEASE_MARKS 64

struct hf_lease_mark {
    hf_time sent;
    hf_time answered;
    hf_time slowest; /* longest round trip from this one to the next mark */
};

struct hf_lease_quorum {
    hf_time              timeout; /* T, the shortest so far */
    hf_time              guard;
    hf_time              connect;              /* when connecting was sent, or -1 */
    struct hf_lease_mark mark[HF_LEASE_MARKS]; /* a ring, oldest overwritten */
    size_t               count;                /* marks ever set */
    hf_time              deadline;
    hf_time              since; /* the deadline counts from a request sent then */
};

void hf_lease_quorum_init(struct hf_lease_quorum *lease, hf_time timeout, hf_time guard);

/* The session has a new connection; `timeout` is its timeout now.  Earlier answers do
 * not count any more. */
void hf_lease_quorum_connected(struct hf_lease_quorum *lease, hf_time sent,
                               hf_time answered, hf_time timeout);

/* A request was answered; `committed`: it was a write that a quorum accepted. */
void hf_lease_quorum_answered(struct hf_lease_quorum *lease, hf_time sent,
                              hf_time answered, bool committed);

/* When to write again, after the last write at `last`. */
hf_time hf_lease_quorum_write_at(const struct hf_lease_quorum *lease, hf_time last);

/* When to reconnect; 0: at once, but not while an answer is outstanding (`busy`). */
hf_time hf_lease_quorum_connect_at(const struct hf_lease_quorum *lease, bool busy);

#endif
