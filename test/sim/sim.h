/* sim.h - one random schedule: hosts, what is wished for, faults, a checker.
 *
 *   plan.c    what there is: drawn from the seed
 *   app.c     the applications: want, hold, release, cancel
 *   chaos.c   what goes wrong: letters, links, pauses, deaths
 *   check.c   what must never be, looked at after every step
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

    enum hf_hold_state state; /* as last told */
    bool               had;   /* granted, and not yet over */
    uint64_t           id;    /* of that grant */
    int                slot;
    bool               present;   /* its ticket is in the world */
    bool               left;      /* and went by our own LEAVE */
    bool               taken;     /* or by something else */
    uint64_t           broken;    /* id of the place an operator took last */
    hf_time            served_at; /* when the world granted its ticket */
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
    size_t         hosts;
    size_t         wishes; /* per host */
    struct name    name[NAMES];
    size_t         names;

    hf_time          ttl;      /* 0: no leases */
    bool             peaceful; /* nothing ever goes wrong */
    unsigned         lossy;    /* letters lost, of 1000 */
    unsigned         jumpy;    /* letters slow, of 100 */
    unsigned         breaks;   /* by an operator, of 100 troubles */
    hf_time          pace;     /* mean time between troubles of a host */
    hf_time          calm_at;  /* from then on nothing goes wrong any more */
    bool             calm;
    size_t           deaths;
    struct hf_errand errand; /* the operator's BREAK */
    bool             errand_out;

    bool     failed;
    uint64_t steps;
    uint64_t ends[SIM_ENDS]; /* wishes that were granted, or ended so, by -code */
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

hf_time chaos_travel(struct net *net, struct net_wire *wire,
                     const struct net_letter *letter);
hf_time chaos_next(const struct sim *sim);
void    chaos_run(struct sim *sim);
void    chaos_end(struct sim *sim); /* calm from now on */

/* After the world changed; when a wish changed; around and after each step. */
void check_served(struct net *net, const struct net_letter *letter,
                  const struct hf_answer *answer);
void check_granted(struct wish *wish);
void check_over(struct wish *wish);
void check_run(struct sim *sim, struct host *host); /* runs it, too */
void check_step(struct sim *sim);
void check_end(struct sim *sim);

#endif
