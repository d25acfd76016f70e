/* net.h - a world and a network of letters, in a time made up by the test.
 *
 * Each wire joins one client to the world.  What is sent becomes a letter; the
 * test decides for each how long it travels, or that it is lost.  Letters of one
 * connection arrive in the order they were sent, as on TCP, and after a lost one
 * nothing more arrives from that side of the connection.  Letters of a newer
 * connection may overtake those of an older one.
 */
#ifndef TEST_NET_H
#define TEST_NET_H

#include "store/memory/memory.h"

#define NET_WIRES   8
#define NET_LETTERS 512
#define NET_NAME    32 /* longest name of a lock, or reason to ask, with its NUL */
#define NET_LOST    ((hf_time)-1)

struct net;

struct net_letter {
    hf_time            arrive;
    uint64_t           order; /* of sending */
    struct net_wire   *wire;
    uint64_t           connection;
    bool               to_world;
    struct hf_call     call; /* to the world, and what it points to: */
    struct hf_req      req;
    char               name[NET_NAME];
    char               note[NET_NAME];  /* of an ASK; others stay behind */
    struct hf_answer   answer;          /* to the client; nobody asks for a LIST */
    char               asked[NET_NAME]; /* of the standing, either way */
    struct net_letter *next;            /* in an inbox, or unused */
};

struct net_wire {
    struct hf_wire     base;
    struct net        *net;
    size_t             index;
    bool               open;
    uint64_t           connection; /* newest */
    bool               deaf, mute; /* nothing more gets to the world, to the client */
    hf_time            last_asked; /* when the last letter arrives there */
    hf_time            last_answered;
    struct net_letter *inbox; /* arrived at the client, not yet read */
    struct net_letter *reading;
};

struct net {
    struct hf_world    world;
    hf_time            now;
    struct net_wire    wire[NET_WIRES];
    size_t             wires;
    struct net_letter *heap[NET_LETTERS]; /* under way, by time of arrival */
    size_t             letters;
    struct net_letter *unused;
    size_t             used; /* of the pool, ever */
    uint64_t           sent;
    hf_time            expiry; /* when the next session may die */
    struct hf_answer   scratch;
    struct net_letter  pool[NET_LETTERS];

    /* How long a letter travels, or NET_LOST. */
    hf_time (*travel)(struct net *net, struct net_wire *wire,
                      const struct net_letter *letter);
    /* Told of every letter that the world has dealt with, and of its answer
     * (NULL: none yet). */
    void (*served)(struct net *net, const struct net_letter *letter,
                   const struct hf_answer *answer);
    void *data;
};

/* Start, or start over: what was there is forgotten. */
void net_init(struct net *net);
void net_finish(struct net *net);

/* A wire to open a store on, or NULL if there are too many. */
struct net_wire *net_wire(struct net *net);

/* When something will happen by itself. */
hf_time net_next(const struct net *net);

/* Let happen what is due at `now`. */
void net_run(struct net *net, hf_time now);

/* The connection breaks, and both sides notice; what is under way to the world
 * arrives if `late`, and so do the answers. */
void net_cut(struct net_wire *wire, bool late);

/* A session ends, as one without a lease does with its process. */
void net_kill(struct net *net, struct hf_session *session);

#endif
