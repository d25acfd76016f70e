/* sim.h - one random schedule: hosts, what is wished for, faults, a checker.
 *
 *   plan.c    what there is: drawn from the seed
 *   app.c     the applications: want, hold, hold less, release, cancel, ask
 *   group.c   several locks as one
 *   chaos.c   what goes wrong: letters, links, pauses, deaths
 *   world.c   what must never be in the world, looked at after every letter
 *   check.c   what applications must never be told, looked at after every step
 *   sim.c     the program
 */
#ifndef SIM_H
#define SIM_H

#include "lib/host.h"

#define HOSTS  4
#define WISHES 3 /* most per host */
#define NAMES  3
#define SHAPES 4 /* most kinds of ticket in one line */

#define SIM_ENDS 32 /* more than there are codes */

/* Counted, to be sure that it happens. */
enum {
    SEEN_LESSER,
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
    struct hf_job job; /* first: on_change() gets it */
    struct sim   *sim;
    struct host  *host;
    struct name  *name;
    char          label[4]; /* "b2" */
    unsigned      rounds;   /* how often it will yet want it */
    hf_time       act;      /* when it does the next thing, true time */
    bool          waits_for_ever;
    struct group *group;     /* whose part it is; NULL: by itself */
    bool          candidate; /* it is an election to it: queues again by itself */
    bool          leads;     /* elected and not deposed */
    unsigned      lessens;   /* how often it will yet hold less, this time */

    enum hf_hold_state state; /* as last told */
    bool               had;   /* granted, and not yet over */
    uint64_t           id;    /* of that grant */
    int                slot;
    bool               present;   /* its ticket is in the world */
    bool               left;      /* and went by our own LEAVE */
    bool               taken;     /* or by something else */
    uint64_t           broken;    /* id of the place an operator took last */
    hf_time            served_at; /* when the world granted its ticket */
    hf_time            asked_at;  /* when word was left at its place, not yet heard */
};

enum group_state { GROUP_REST, GROUP_TAKING, GROUP_HELD, GROUP_GIVING };

/* Several locks of one host that are wanted as one. */
struct group {
    struct sim      *sim;
    struct wish     *part[WISHES]; /* in the order they are taken */
    size_t           parts;        /* 0: there is no such group */
    size_t           wanted;       /* parts asked for so far */
    enum group_state state;
    unsigned         rounds;
    bool             once;
    bool             eager;    /* asks for all at once */
    hf_time          deadline; /* of all of them, by the host's clock */
    hf_time          act;      /* cancels or releases, true time */
    bool             poked;    /* a part has changed */
};

/* One host asks the holder of some line to yield. */
struct request {
    struct hf_errand errand;
    bool             out;
    hf_time          when;
    struct name     *name;
    char             why[NET_NAME];
};

/* A lock's name, the kinds of ticket it has, and what was granted so far. */
struct name {
    char            text[4];
    struct hf_shape shape[SHAPES];
    uint64_t        top[SHAPES]; /* highest token told, by kind of ticket */
    size_t          shapes;
    bool            mixed; /* used as different locks */
};

struct trouble {
    hf_time  next;       /* when something happens to this host */
    hf_time  down_until; /* nothing gets through, either way or one way: */
    bool     to_world;
    bool     to_client;
    hf_time  slow_until;
    hf_time  stopped_until;
    hf_time  dead_until;
    hf_time  rough_until; /* end of all that could hold it up */
    uint64_t forgotten;   /* its sessions up to this an operator ended */
};

struct sim {
    uint64_t       seed;
    uint64_t       random;
    bool           verbose;
    struct net     net;
    struct host    host[HOSTS];
    struct trouble trouble[HOSTS];
    struct wish    wish[HOSTS][WISHES];
    struct group   group[HOSTS];
    struct request request[HOSTS];
    size_t         hosts;
    size_t         wishes; /* per host */
    struct name    name[NAMES];
    size_t         names;

    hf_time          ttl;      /* 0: no leases */
    bool             peaceful; /* nothing ever goes wrong */
    bool             grouped;  /* hosts want several locks as one */
    unsigned         lossy;    /* letters lost, of 1000 */
    unsigned         jumpy;    /* letters slow, of 100 */
    unsigned         breaks;   /* by an operator, of 100 troubles */
    hf_time          pace;     /* mean time between troubles of a host */
    hf_time          calm_at;  /* from then on nothing goes wrong any more */
    bool             calm;
    size_t           deaths;
    struct hf_errand errand; /* the operator's BREAK */
    bool             errand_out;
    unsigned         reasons; /* given so far, so that each is another */

    bool     granted; /* in this step: holders are to be counted */
    unsigned touched; /* hosts that ran, or whom the world dealt with, in this step */
    bool     failed;
    uint64_t steps;
    uint64_t ends[SIM_ENDS]; /* wishes that were granted, or ended so, by -code */
    uint64_t seen[SEEN];     /* what else there was */
};

/* Draw a number: 0 to below - 1; least to most; true `percent` of the time. */
uint64_t sim_draw(struct sim *sim, uint64_t below);
hf_time  sim_span(struct sim *sim, hf_time least, hf_time most);
bool     sim_maybe(struct sim *sim, unsigned percent);

/* A line of the transcript; a violation of what is promised. */
#define sim_tell(sim, ...)             \
    do {                               \
        if ((sim)->verbose)            \
            sim_say(sim, __VA_ARGS__); \
    } while (0)
void sim_say(struct sim *sim, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void sim_fail(struct sim *sim, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

size_t sim_index(const struct sim *sim, const struct host *host);
bool   sim_waiting(const struct wish *wish);

void plan_make(struct sim *sim, uint64_t seed);
void plan_start_host(struct sim *sim, struct host *host);

hf_time app_next(const struct sim *sim, const struct host *host);
void    app_run(struct sim *sim, struct host *host);
void    app_change(struct hf_job *job);
void    app_hurry(struct sim *sim); /* what is held is given back soon */
bool    app_all_over(const struct sim *sim);
hf_time app_while(struct sim *sim); /* draw how long something is held */

void    group_plan(struct sim *sim, size_t host);
hf_time group_next(const struct group *group);
void    group_run(struct sim *sim, struct group *group);
bool    group_over(const struct group *group);

hf_time chaos_travel(struct net *net, struct net_wire *wire,
                     const struct net_letter *letter);
hf_time chaos_next(const struct sim *sim);
void    chaos_run(struct sim *sim);
void    chaos_end(struct sim *sim); /* calm from now on */

/* A host's session in the world, and its place there by that id; or NULL. */
struct hf_session *world_session(const struct host *host);
struct hf_place   *world_place(const struct host *host, uint64_t id);

/* After the world has dealt with a letter. */
void world_served(struct net *net, const struct net_letter *letter, bool answered);

/* When a wish changed; around and after each step. */
void check_granted(struct wish *wish);
void check_over(struct wish *wish);
void check_elected(const struct wish *wish);
void check_run(struct sim *sim, struct host *host); /* runs it, too */
void check_step(struct sim *sim);
void check_end(struct sim *sim);

#endif
