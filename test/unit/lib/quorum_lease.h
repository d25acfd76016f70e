/* quorum_lease.h - the lease of a ZooKeeper session, for lease.c and lease_pace.c.  Every
 * answer takes 10 ms, so delta = 40 ms. */
#ifndef HF_TEST_UNIT_QUORUM_HAND_H
#define HF_TEST_UNIT_QUORUM_HAND_H

#include "core/lease.h"

#define T      (12 * HF_SEC)
#define LEASED (11976 * HF_MS) /* T(1-rho) */

static inline struct hf_lease_quorum connected(hf_time sent)
{
    struct hf_lease_quorum lease;

    hf_lease_quorum_init(&lease, T, 0);
    hf_lease_quorum_connected(&lease, sent, sent + 10 * HF_MS, T);
    return lease;
}

static inline void answer(struct hf_lease_quorum *lease, hf_time sent, bool committed)
{
    hf_lease_quorum_answered(lease, sent, sent + 10 * HF_MS, committed);
}

#endif
