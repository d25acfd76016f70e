/* store.h - a store at the end of a simulated network, as clients of a server have it.
 *
 *   store.c       requests: waiting, in flight, answered
 *   store_link.c  the session and its lease
 */
#ifndef HF_TEST_SIM_STORE_H
#define HF_TEST_SIM_STORE_H

#include "core/retry.h"
#include "lib/sim/network.h"

struct sim_store {
    struct hf_store  base;
    struct sim_wire *wire;

    /* store_link.c */
    uint64_t        session;    /* 0: none */
    uint64_t        connection; /* number of the newest */
    hf_time         ttl;
    uint64_t        beat; /* serial of the HELLO or RENEW in flight, or 0 */
    hf_time         sent; /* when */
    hf_time         due;  /* when to send the next, or to stop waiting for this one */
    struct hf_retry retry;
    uint64_t        serials; /* given out */

    /* store.c */
    struct hf_requests waiting; /* not yet sent */
    struct hf_requests flying;  /* `work` is the serial */
    struct hf_requests failed;  /* to be completed with their status */
    bool               cancels; /* some requests were canceled */
};

/* A store at the end of a wire.  ttl 0: no lease.  `seed` is for back-off. */
struct hf_store *sim_store_open(struct sim_wire *wire, hf_time ttl, uint64_t seed);

/* ---- Between the two ----------------------------------------------------------- */

/* Send HELLO and RENEW when due; notice a dead wire. */
void sim_store_link_run(struct sim_store *sim, hf_time now);

/* Take an answer about the session.  False: it is about something else. */
bool sim_store_link_take(struct sim_store *sim, const struct sim_message *answer,
                         hf_time now);

/* The session has ended. */
void sim_store_lose(struct sim_store *sim, hf_time now);

/* Fail the requests in flight; with `all` also those not sent yet. */
void sim_store_fail(struct sim_store *sim, bool all);

extern const struct hf_store_impl sim_store_store;

#endif
