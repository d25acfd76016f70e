/* quorum_model.h - a model of ZooKeeper for one session: a leader, a follower, and the
 * connections between them and the client of lease_sim.c.
 */
#ifndef HF_TEST_UNIT_QUORUM_H
#define HF_TEST_UNIT_QUORUM_H

#include "core/lease.h"

#include <stdbool.h>
#include <stddef.h>

enum what {
    ASK,          /* the leader asks its follower which sessions it heard from */
    ASKED,        /* ... this arrives */
    TOLD,         /* ... the answer arrives; number: our T in ms if we are in it, or 0 */
    EXPIRE,       /* the leader checks whether our session has expired */
    BEAT,         /* the client wants to write; number: valid only if the newest */
    READ,         /* the client wants to read */
    RENEW,        /* the client wants to reconnect; number as of BEAT */
    RESTLESS,     /* the same for no reason */
    SENT,         /* a request is with the follower */
    FORWARDED,    /* a write is with the leader */
    COMMITTED,    /* the follower hears that a quorum has it */
    ANSWERED,     /* the client has the answer */
    CONNECT,      /* a new connection is with the follower; number: which */
    REVALIDATE,   /* the leader hears of it */
    VALID,        /* the leader has accepted it */
    GREETED,      /* the client hears that */
    DEPOSED,      /* the others have another leader */
    FOLLOWER_OFF, /* it has not heard from its leader for too long */
};

struct event {
    hf_time   at;
    enum what what;
    int       number; /* of the request */
};

/* Messages from one to another arrive in order. */
struct way {
    hf_time last;
    hf_time cut; /* later messages are lost */
};

struct request {
    hf_time sent;
    bool    write;
    int     connection;
};

struct connection {
    hf_time sent;
    hf_time timeout; /* as this server gives it */
};

#define EVENTS      1024
#define REQUESTS    1024
#define CONNECTIONS 256

struct world {
    uint64_t seed;
    hf_time  tick, timeout, sync_limit, hop, pace;
    hf_time  rate;  /* the client's clock is fast by 1/rate */
    hf_time  spite; /* from then on the cut waits for the worst moment; 0: it does not */
    struct event   event[EVENTS];
    size_t         events;
    struct request request[REQUESTS];
    int            requests;
    struct way     to_follower, to_leader, to_client, from_client;

    struct connection connection[CONNECTIONS];
    int               connections;
    hf_time           restless; /* how often it reconnects for no reason; 0: never */

    hf_time touched; /* T, if the follower has heard of us since it was last asked */
    int     served;  /* the connection that it serves */
    bool    follows;
    bool    deposed;
    hf_time heard;   /* by the follower, from the leader */
    hf_time told;    /* when the leader last heard of the follower */
    hf_time expires; /* as the leader has it now */
    hf_time expired; /* 0: not yet */

    struct hf_lease_quorum lease;
    int                    used; /* the connection that the client uses; -1: none */
    bool                   beating;
    int                    plan;                    /* number of the newest */
    hf_time                last_beat;               /* sent */
    hf_time                last_answer, last_write; /* sent */
};

/* A random number. */
hf_time world_between(struct world *world, hf_time least, hf_time most);

/* Schedule an event; take the next one. */
void         world_put(struct world *world, hf_time at, enum what what, int number);
struct event world_take(struct world *world);

/* Send a message: it arrives in order, and not after the way is cut. */
void world_send(struct world *world, struct way *way, hf_time now, enum what what,
                int number);

/* Events of the two; the follower hears from its leader. */
void world_leader(struct world *world, struct event event);
void world_follower(struct world *world, struct event event);
void world_follower_heard(struct world *world, hf_time now);

#endif
