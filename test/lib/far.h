/* far.h - a store whose world is at the far end of a network: what clients of a server are.
 *
 *   far.c       requests on their way: waiting, in flight, answered
 *   far_link.c  the session and its lease
 */
#ifndef TEST_FAR_H
#define TEST_FAR_H

#include "core/retry.h"
#include "lib/net.h"

struct far {
    struct hf_store  base;
    struct net_wire *wire;

    /* far_link.c */
    uint64_t        session;    /* 0: none yet, or no more */
    uint64_t        connection; /* number of the newest */
    hf_time         ttl;
    uint64_t        beat; /* serial of the HELLO or RENEW in flight, or 0 */
    hf_time         sent; /* when */
    hf_time         due;  /* when to send the next, or to give this one up */
    struct hf_retry retry;
    uint64_t        serials; /* given out */

    /* far.c */
    struct hf_requests waiting; /* not yet sent */
    struct hf_requests flying;  /* `work` is the serial */
    struct hf_requests failed;  /* to be completed with their status */
    bool               cancels; /* some are to end early */
};

/* A store at the end of a wire.  ttl 0: no lease.  `seed` is for back-off. */
struct hf_store *far_open(struct net_wire *wire, hf_time ttl, uint64_t seed);

/* ---- Between the two ----------------------------------------------------------- */

/* Send HELLO and RENEW when it is time; notice a dead wire. */
void far_link_run(struct far *far, hf_time now);

/* An answer that is about the session.  False if it is not. */
bool far_link_take(struct far *far, const struct net_letter *answer, hf_time now);

/* The world does not know our session any more. */
void far_lose(struct far *far, hf_time now);

/* Fail what is in flight; with `all` also what was not yet sent. */
void far_fail(struct far *far, bool all);

extern const struct hf_store_impl far_store;

#endif
