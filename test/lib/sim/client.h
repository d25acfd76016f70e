/* client.h - a client in virtual time: the real engine on a simulated store.
 *
 * The test brings the jobs.  A client has a clock of its own, which starts anywhere and
 * drifts.  A stopped client does nothing, whatever arrives, until it goes on.
 */
#ifndef HF_TEST_SIM_CLIENT_H
#define HF_TEST_SIM_CLIENT_H

#include "client/engine.h"
#include "lib/sim/store.h"

struct sim_client {
    struct sim_network *net;
    struct sim_wire    *wire;
    struct hf_store    *store; /* NULL: not running */
    struct hf_engine    engine;
    hf_time             ttl;
    hf_time             offset; /* of its clock */
    int64_t             drift;  /* millionths too fast */
    bool                stopped;
    hf_time             wake; /* true time; see sim_client_next() */
};

/* Start a client with a new session.  Set net, ttl, offset and drift before. */
void sim_client_start(struct sim_client *client, uint64_t seed);

/* End it: with a BYE (`politely`), or without. */
void sim_client_close(struct sim_client *client, bool politely);

/* What its clock shows at a true time; the true time at which it shows that. */
hf_time sim_client_clock(const struct sim_client *client, hf_time now);
hf_time sim_client_when(const struct sim_client *client, hf_time shown);

/* Break its connection, see sim_network_cut(); stop it, or let it go on. */
void sim_client_cut(struct sim_client *client, bool late);
void sim_client_stop(struct sim_client *client, bool stop);

/* When it wants to run. */
hf_time sim_client_next(const struct sim_client *client);
void    sim_client_run(struct sim_client *client);

#endif
