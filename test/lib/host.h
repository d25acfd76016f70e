/* host.h - a client in virtual time: the real engine on a store on a wire.
 *
 * Jobs are the test's own.
 * A host has a clock of its own, that starts anywhere and runs a little too
 * fast or too slow, and it may be stopped: then it does nothing, whatever
 * arrives, until it is let go on.
 */
#ifndef TEST_HOST_H
#define TEST_HOST_H

#include "client/engine.h"
#include "lib/far.h"

struct host {
    struct net      *net;
    struct net_wire *wire;
    struct hf_store *store; /* NULL: not running */
    struct hf_engine engine;
    hf_time          ttl;
    hf_time          offset; /* of its clock */
    int64_t          drift;  /* millionths too fast */
    bool             stopped;
    hf_time          wake; /* true time; see host_next() */
};

/* Start a client with a new session.  Set net, ttl, offset and drift before. */
void host_start(struct host *host, uint64_t seed);

/* End it: politely, or without a word. */
void host_close(struct host *host, bool politely);

/* What its clock shows at a true time, and when it will show that much. */
hf_time host_clock(const struct host *host, hf_time now);
hf_time host_when(const struct host *host, hf_time shown);

/* Break its connection; see net_cut().  Stop it, or let it go on. */
void host_cut(struct host *host, bool late);
void host_stop(struct host *host, bool stop);

/* When it wants to run. */
hf_time host_next(const struct host *host);
void    host_run(struct host *host);

#endif
