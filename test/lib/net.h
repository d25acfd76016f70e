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

#include "store/memory/world.h"

#define NET_WIRES   8
#define NET_LETTERS 512
#define NET_NAME    32 /* longest name of a lock, or reason to ask, with its NUL */
#define NET_LOST    ((hf_time)-1)

struct net;

enum net_kind {
    NET_HELLO,  /* connect: session 0 for a new one, with the ttl */
    NET_RENEW,  /* the session lives */
    NET_VERB,   /* a request */
    NET_FORGET, /* the WATCH sent as `serial`; no answer */
    NET_BYE,    /* the session ends; no answer */
};

/* The answer is the same letter, sent back. */
struct net_letter {
    enum net_kind      kind;
    uint64_t           session;
    uint64_t           connection; /* rising within the session, from 1 */
    uint64_t           serial;     /* names the answer */
    hf_time            ttl;        /* HELLO; 0: no lease */
    bool               gone;       /* answer: there is no such session (any more) */
    struct hf_req      req;        /* VERB, and what it points to: */
    char               name[NET_NAME];
    char               note[NET_NAME];  /* of an ASK; others stay behind */
    char               asked[NET_NAME]; /* of the standing */
    struct net_wire   *wire;
    bool               to_world;
    hf_time            arrive;
    uint64_t           order; /* of sending */
    bool               kept;  /* by the world, until it comes true */
    struct net_letter *next;  /* in an inbox, or unused */
};

/* A session in the world.  What arrives from a connection that is not its newest is dropped
 * (S6). */
struct net_session {
    struct hf_session   base; /* first; its owner is the wire */
    uint64_t            connection;
    struct net_session *next;
};

struct net_wire {
    struct net        *net;
    bool               broken; /* the connection is gone; a HELLO makes a new one */
    size_t             index;
    bool               open;
    bool               deaf, mute; /* nothing more gets to the world, to the client */
    hf_time            last_asked; /* when the last letter arrives there */
    hf_time            last_answered;
    struct net_letter *inbox; /* arrived at the client, not yet read */
    struct net_letter *reading;
};

struct net {
    struct hf_world     world;
    struct net_session *sessions;
    hf_time             now;
    struct net_wire     wire[NET_WIRES];
    size_t              wires;
    struct net_letter  *heap[NET_LETTERS]; /* under way, by time of arrival */
    size_t              letters;
    struct net_letter  *unused;
    size_t              used; /* of the pool, ever */
    uint64_t            sent;
    hf_time             expiry; /* when the next session may die */
    struct net_letter   pool[NET_LETTERS];

    /* How long a letter travels, or NET_LOST. */
    hf_time (*travel)(struct net *net, struct net_wire *wire,
                      const struct net_letter *letter);
    /* Told of every letter that the world has dealt with, with the answer in it if it is
     * answered; NULL: a session has died. */
    void (*served)(struct net *net, const struct net_letter *letter, bool answered);
    void *data;
};

/* Start, or start over: what was there is forgotten. */
void net_init(struct net *net);
void net_finish(struct net *net);

/* A wire to open a store on, or NULL if there are too many. */
struct net_wire *net_wire(struct net *net);

/* The client's end.  Send a letter: a copy is taken of it, and of what it points to.  The next
 * answer, lent until the next call; NULL: none yet. */
void                     net_send(struct net_wire *wire, const struct net_letter *letter);
const struct net_letter *net_receive(struct net_wire *wire);
void                     net_close(struct net_wire *wire);

/* When something will happen by itself. */
hf_time net_next(const struct net *net);

/* Let happen what is due at `now`. */
void net_run(struct net *net, hf_time now);

/* NULL: there is none of that number. */
struct net_session *net_session(const struct net *net, uint64_t number);

/* The connection breaks, and both sides notice; what is under way to the world
 * arrives if `late`, and so do the answers. */
void net_cut(struct net_wire *wire, bool late);

/* A session ends, as one without a lease does with its process. */
void net_kill(struct net *net, struct hf_session *session);

#endif
