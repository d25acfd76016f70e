/* sim.h - one random schedule: clients, the locks that they want, faults, checks.
 *
 *   plan.c    draws all of it from the seed
 *   app.c     the applications: want, hold, downgrade, release, cancel, ask
 *   group.c   several locks as one
 *   chaos.c   faults: lost messages, broken links, pauses, deaths
 *   world.c   checks the state of the store, after every message
 *   check.c   checks what applications learn, after every step
 *   sim.c     the program
 */
#ifndef SIM_H
#define SIM_H

#include "lib/sim/client.h"

#define CLIENTS 4
#define WISHES  3 /* most per client */
#define NAMES   3
#define SHAPES  4 /* most kinds of place in one queue */

#define SIM_ENDS 32 /* more than there are codes */

/* Counted, to be sure that the schedules contain it. */
enum {
    SEEN_DOWNGRADE,
    SEEN_ASKED,
    SEEN_PLACE,
    SEEN_GROUP,
    SEEN_ROLLBACK,
    SEEN_GIVE_UP,
    SEEN_LEADER,
    SEEN
};

/* One application that wants one lock, again and again. */
struct wish {
    struct hf_job      job; /* first: on_change() gets it */
    struct sim        *sim;
    struct sim_client *client;
    struct name       *name;
    char               label[4]; /* "b2" */
    unsigned           rounds;   /* left to do */
    hf_time            act;      /* when it acts next, in true time */
    bool               waits_for_ever;
    struct group      *group;      /* that it is a part of; NULL: none */
    bool               candidate;  /* in an election: queues again by itself */
    bool               leads;      /* elected and not deposed */
    unsigned           downgrades; /* left to do while it holds */

    enum hf_hold_state state; /* when the application was last notified */
    bool               had;   /* granted, and not released or lost yet */
    uint64_t           id;    /* of that grant */
    int                slot;
    bool               present;   /* its place is in the store */
    bool               left;      /* ... it was removed by our own LEAVE */
    bool               taken;     /* ... or by something else */
    uint64_t           broken;    /* id of its last place that an operator broke */
    hf_time            served_at; /* when the store granted its place */
    hf_time            asked_at;  /* when an ASK arrived that it has not heard of yet */
};

enum group_state { GROUP_REST, GROUP_TAKING, GROUP_HELD, GROUP_GIVING };

/* Several locks of one client, acquired as one. */
struct group {
    struct sim      *sim;
    struct wish     *part[WISHES]; /* in the order of acquiring */
    size_t           parts;        /* 0: no group */
    size_t           wanted;       /* parts requested so far */
    enum group_state state;
    unsigned         rounds;
    bool             once;
    bool             eager;    /* requests all at once */
    hf_time          deadline; /* of all parts, by the client's clock */
    hf_time          act;      /* when it cancels or releases, in true time */
    bool             poked;    /* a part has changed */
};

/* A client asks the holder of a lock to release it. */
struct request {
    struct hf_query query;
    bool            out;
    hf_time         when;
    struct name    *name;
    char            why[SIM_NAME];
};

/* The name of a lock, its kinds of place, and the tokens granted so far. */
struct name {
    char            text[4];
    struct hf_shape shape[SHAPES];
    uint64_t        top[SHAPES]; /* highest token granted, by kind of place */
    size_t          shapes;
    bool            mixed; /* used as different locks */
};

struct trouble {
    hf_time  next;       /* when the next fault hits this client */
    hf_time  down_until; /* messages are lost, in these directions: */
    bool     to_world;
    bool     to_client;
    hf_time  slow_until;
    hf_time  stopped_until;
    hf_time  dead_until;
    hf_time  rough_until; /* when the last of its faults is over */
    uint64_t forgotten;   /* number of its last session that an operator ended */
};

struct sim {
    uint64_t           seed;
    uint64_t           random;
    bool               verbose;
    struct sim_network net;
    struct sim_client  client[CLIENTS];
    struct trouble     trouble[CLIENTS];
    struct wish        wish[CLIENTS][WISHES];
    struct group       group[CLIENTS];
    struct request     request[CLIENTS];
    size_t             clients;
    size_t             wishes; /* per client */
    struct name        name[NAMES];
    size_t             names;

    hf_time         ttl;      /* 0: no leases */
    bool            peaceful; /* no faults at all */
    bool            grouped;  /* clients acquire several locks as one */
    unsigned        lossy;    /* lost messages, of 1000 */
    unsigned        jumpy;    /* slow messages, of 100 */
    unsigned        breaks;   /* BREAKs by an operator, of 100 faults */
    hf_time         pace;     /* mean time between faults of a client */
    hf_time         calm_at;  /* no faults from then on */
    bool            calm;
    size_t          deaths;
    struct hf_query query; /* the operator's BREAK */
    bool            query_out;
    unsigned        reasons; /* given so far: each is different */

    bool     granted; /* in this step: count the holders */
    unsigned touched; /* clients that ran, or that the store served, in this step */
    bool     failed;
    uint64_t steps;
    uint64_t ends[SIM_ENDS]; /* how wishes ended, by -code */
    uint64_t seen[SEEN];     /* other events */
};

/* Draw a number: 0 to below - 1; least to most; true `percent` of the time. */
uint64_t sim_draw(struct sim *sim, uint64_t below);
hf_time  sim_span(struct sim *sim, hf_time least, hf_time most);
bool     sim_maybe(struct sim *sim, unsigned percent);

/* A line of the transcript; a violation, which ends the run. */
#define sim_tell(sim, ...)             \
    do {                               \
        if ((sim)->verbose)            \
            sim_say(sim, __VA_ARGS__); \
    } while (0)
void sim_say(struct sim *sim, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void sim_fail(struct sim *sim, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

size_t sim_index(const struct sim *sim, const struct sim_client *client);
bool   sim_waiting(const struct wish *wish);

void plan_make(struct sim *sim, uint64_t seed);
void plan_start_client(struct sim *sim, struct sim_client *client);

hf_time app_next(const struct sim *sim, const struct sim_client *client);
void    app_run(struct sim *sim, struct sim_client *client);
void    app_change(struct hf_job *job);
void    app_hurry(struct sim *sim); /* release everything soon */
bool    app_all_over(const struct sim *sim);
hf_time app_while(struct sim *sim); /* draw how long to hold a lock */

void    group_plan(struct sim *sim, size_t client);
hf_time group_next(const struct group *group);
void    group_run(struct sim *sim, struct group *group);
bool    group_over(const struct group *group);

hf_time chaos_travel(struct sim_network *net, struct sim_wire *wire,
                     const struct sim_message *message);
hf_time chaos_next(const struct sim *sim);
void    chaos_run(struct sim *sim);
void    chaos_end(struct sim *sim); /* calm from now on */

/* A client's session in the store, and its place there by that id; or NULL. */
struct hf_session     *world_session(const struct sim_client *client);
struct hf_world_place *world_place(const struct sim_client *client, uint64_t id);

/* After the store has served a message. */
void world_served(struct sim_network *net, const struct sim_message *message,
                  bool answered);

/* When a wish changed; around and after each step. */
void check_granted(struct wish *wish);
void check_over(struct wish *wish);
void check_elected(const struct wish *wish);
void check_run(struct sim *sim, struct sim_client *client); /* runs it, too */
void check_step(struct sim *sim);
void check_end(struct sim *sim);

#endif
