/* network.h - a simulated network between clients and a store, in virtual time.
 *
 * Each wire joins one client to the store's world (store/memory/world.h).  The test
 * decides for each message how long it travels, or that it is lost.  Messages of one
 * connection arrive in the order they were sent, as on TCP; after a lost one nothing more
 * arrives from that side of the connection.  Messages of a newer connection may overtake
 * those of an older one.
 */
#ifndef HF_TEST_SIM_NETWORK_H
#define HF_TEST_SIM_NETWORK_H

#include "store/memory/world.h"

#define SIM_WIRES    8
#define SIM_MESSAGES 512
#define SIM_NAME     32 /* longest name of a lock, or reason to ask, with its NUL */
#define SIM_LOST     ((hf_time)-1)

struct sim_network;

enum sim_message_kind {
    SIM_HELLO,  /* connect; session 0: begin one, with that ttl */
    SIM_RENEW,  /* keep the session alive */
    SIM_VERB,   /* a request */
    SIM_FORGET, /* drop the WATCH sent as `serial`; no answer */
    SIM_BYE,    /* end the session; no answer */
};

/* An answer is the same message, sent back. */
struct sim_message {
    enum sim_message_kind kind;
    uint64_t              session;
    uint64_t              connection; /* rising within the session, from 1 */
    uint64_t              serial;     /* names the answer */
    hf_time               ttl;        /* HELLO; 0: no lease */
    bool                  gone;       /* answer: no such session */
    struct hf_req         req;        /* VERB; it points to: */
    char                  name[SIM_NAME];
    char                  note[SIM_NAME];  /* of an ASK; other notes are not sent */
    char                  asked[SIM_NAME]; /* of the standing */
    struct sim_wire      *wire;
    bool                  to_world;
    hf_time               arrive;
    uint64_t              order; /* of sending */
    bool                  kept;  /* by the world: a WATCH that is not answered yet */
    struct sim_message   *next;  /* of `pending`, or unused */
};

/* A session in the world.  Messages of any connection but its newest are dropped (S6). */
struct sim_session {
    struct hf_session   base; /* first; its owner is the wire */
    uint64_t            connection;
    struct sim_session *next;
};

struct sim_wire {
    struct sim_network *net;
    bool                broken; /* the connection is closed; a HELLO opens a new one */
    size_t              index;
    bool                open;
    bool                deaf, mute; /* messages to the world, to the client are lost */
    hf_time             last_asked; /* when the last message arrives at the world */
    hf_time             last_answered;
    struct sim_message *pending; /* arrived at the client, not yet read */
    struct sim_message *reading;
};

struct sim_network {
    struct hf_world     world;
    struct sim_session *sessions;
    hf_time             now;
    struct sim_wire     wire[SIM_WIRES];
    size_t              wires;
    struct sim_message
          *heap[SIM_MESSAGES]; /* under way, by time of arrival; `messages` of them */
    size_t messages;
    struct sim_message *unused;
    size_t              used; /* of the pool, ever */
    uint64_t            sent;
    hf_time             expiry; /* when the next session may die */
    struct sim_message  pool[SIM_MESSAGES];

    /* How long a message travels, or SIM_LOST. */
    hf_time (*travel)(struct sim_network *net, struct sim_wire *wire,
                      const struct sim_message *message);
    /* Called for every message that the world has served, with the answer in it if it is
     * answered; NULL: a session has ended. */
    void (*served)(struct sim_network *net, const struct sim_message *message,
                   bool answered);
    void *data;
};

/* Start, or start over. */
void sim_network_init(struct sim_network *net);
void sim_network_finish(struct sim_network *net);

/* A wire to open a store on, or NULL if there are too many. */
struct sim_wire *sim_network_wire(struct sim_network *net);

/* The client's end.  Sending copies the message and what it points to.  The answer is
 * lent until the next call; NULL: none yet. */
void sim_network_send(struct sim_wire *wire, const struct sim_message *message);
const struct sim_message *sim_network_receive(struct sim_wire *wire);
void                      sim_network_close(struct sim_wire *wire);

/* When the next message arrives, or the next session expires. */
hf_time sim_network_next(const struct sim_network *net);

/* Do everything that is due at `now`. */
void sim_network_run(struct sim_network *net, hf_time now);

/* NULL: no session of that number. */
struct sim_session *sim_network_session(const struct sim_network *net, uint64_t number);

/* Break the connection; both sides notice.  `late`: messages under way still arrive. */
void sim_network_cut(struct sim_wire *wire, bool late);

/* End a session, as one without a lease ends with its process. */
void sim_network_kill(struct sim_network *net, struct hf_session *session);

#endif
