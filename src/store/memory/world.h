/* world.h - the far side of the memory store: what a server would be.
 *
 * A world keeps lines and sessions.  It is asked, and answers at once; only a
 * WATCH is answered later, as news.  It reads no clock and takes no lock: the
 * time is a parameter, and whoever shares a world sees to it that one at a time
 * asks.  So a simulation can put any network between a client and its world.
 *
 * A session with a ttl dies when it was not renewed for that long, counted from
 * when the renewal arrived here.  Each connection of a session has a number;
 * what arrives from a connection that is not the newest is dropped (S6).
 */
#ifndef HF_MEMORY_WORLD_H
#define HF_MEMORY_WORLD_H

#include "store/findings.h"
#include "store/memory/queue.h"
#include "store/store.h"

enum hf_call_kind {
    HF_CALL_HELLO,  /* connect: session 0 for a new one, with the ttl */
    HF_CALL_RENEW,  /* the session lives */
    HF_CALL_VERB,   /* a request */
    HF_CALL_FORGET, /* the watch asked for as `serial`; no answer */
    HF_CALL_BYE,    /* the session ends; no answer */
    HF_CALL_END,    /* its will: it ends, whatever connection it is on */
};

struct hf_call {
    enum hf_call_kind    kind;
    uint64_t             session;
    uint64_t             connection; /* rising within the session, from 1 */
    uint64_t             serial;     /* names the answer */
    hf_time              ttl;        /* HELLO; 0: no lease */
    void                *owner;      /* HELLO: for the bell */
    const struct hf_req *req;        /* VERB; lent for the call */
};

/* The buffers are kept from one answer to the next; finish() frees them. */
struct hf_answer {
    uint64_t               serial;
    bool                   gone;    /* there is no such session (any more) */
    uint64_t               session; /* of a HELLO */
    int                    status;
    uint64_t               stamp;
    struct hf_standing     standing; /* its reason is in `text` */
    size_t                 count;
    struct hf_ticket      *ticket;
    size_t                 room;
    char                  *text; /* what all its strings point to */
    size_t                 text_room;
    struct hf_finding_list findings; /* EXAMINE */
};

struct hf_session {
    uint64_t           number;
    uint64_t           connection;
    hf_time            ttl;
    hf_time            until; /* HF_NEVER without a lease */
    struct hf_place   *places;
    struct hf_watch   *news;     /* fired, not yet told */
    uint64_t           surveyed; /* stamp when a SURVEY last ended; 0: none did */
    void              *owner;
    struct hf_session *next;
};

#define HF_WORLD_BUCKETS 64

struct hf_world {
    struct hf_queue   *queue[HF_WORLD_BUCKETS]; /* by the name's hash */
    struct hf_session *sessions;
    struct hf_watch   *surveys; /* that wait */
    bool               eager;  /* a change completes every WATCH of a place in its line */
    uint64_t           number; /* last session; may begin anywhere */
    uint64_t           token;  /* last token, over all lines; the seq is the same */
    uint64_t           stamp;  /* changes so far, from 1 */
    uint64_t           emptied; /* stamp when a line was last forgotten */
    int64_t            wall;    /* the time of day, kept up by the caller */

    /* Called when news came up for a session other than the one that asks. */
    void (*bell)(void *owner);
};

/* `token`: the highest ever given out before. */
void hf_world_init(struct hf_world *world, uint64_t token);
void hf_world_finish(struct hf_world *world);

/* False if there is nothing to answer now, or ever. */
bool hf_world_call(struct hf_world *world, const struct hf_call *call, hf_time now,
                   struct hf_answer *answer);

/* The answer to a WATCH or SURVEY of this session that came true.  False: there is none. */
bool hf_world_news(struct hf_world *world, uint64_t session, struct hf_answer *answer);

/* End the sessions whose time is up.  Returns when the next one's will be. */
hf_time hf_world_pass(struct hf_world *world, hf_time now);

void hf_answer_finish(struct hf_answer *answer);

/* ---- Between the parts of the world --------------------------------------- */

struct hf_session *hf_world_session(const struct hf_world *world, uint64_t number);
void               hf_world_end(struct hf_world *world, struct hf_session *session);

/* The line of that name; made if `make`. NULL: there is none, or no memory. */
struct hf_queue *hf_world_line(struct hf_world *world, const char *name, bool make);

/* A line has changed: grant what passes now, and tell. */
void hf_world_changed(struct hf_world *world, struct hf_queue *queue,
                      const struct hf_session *by);

/* Complete what has come true of the WATCHes in a line; forget a line that is empty. */
void hf_world_tell(struct hf_world *world, struct hf_queue *queue,
                   const struct hf_session *by);
void hf_world_tidy(struct hf_world *world, struct hf_queue *queue);

/* Hand a request to its verb.  False if the answer comes later. */
bool hf_world_verb(struct hf_world *world, struct hf_session *session, uint64_t serial,
                   const struct hf_req *req, struct hf_answer *answer);

/* The verbs: 0 or HF_E...; WATCH and SURVEY: false if it is answered later, as news. */
int  hf_world_enter(struct hf_world *world, struct hf_session *session,
                    const struct hf_req *req, struct hf_answer *answer);
bool hf_world_watch(struct hf_world *world, struct hf_session *session, uint64_t serial,
                    const struct hf_req *req, struct hf_answer *answer);
int  hf_world_leave(struct hf_world *world, struct hf_session *session,
                    const struct hf_req *req);
int  hf_world_list(const struct hf_world *world, const char *name,
                   struct hf_answer *answer);
int  hf_world_break(struct hf_world *world, const struct hf_session *session,
                    const struct hf_req *req);
int  hf_world_amend(struct hf_world *world, const struct hf_session *session,
                    const struct hf_req *req, struct hf_answer *answer);
int  hf_world_ask(struct hf_world *world, const struct hf_session *session,
                  const struct hf_req *req);
int  hf_world_prove(struct hf_world *world, const struct hf_session *session,
                    const struct hf_req *req);
int  hf_world_examine(struct hf_world *world, const struct hf_session *session,
                      const char *name, struct hf_answer *answer);
bool hf_world_survey(struct hf_world *world, struct hf_session *session, uint64_t serial,
                     const struct hf_req *req, struct hf_answer *answer);

/* Forget what the session watches, by its serial; 0: all of it. */
void hf_world_unwatch(struct hf_world *world, struct hf_session *session,
                      uint64_t serial);

struct hf_watch *hf_watch_new(struct hf_session *session, uint64_t serial,
                              const struct hf_req *req);
void             hf_watch_free(struct hf_watch *watch);

/* Has it come true? */
bool hf_watch_due(const struct hf_watch *watch, const struct hf_queue *queue);

/* Take those of the session out of a list: one, or with serial 0 all.  Were there any? */
bool hf_watch_forget(struct hf_watch **at, const struct hf_session *session,
                     uint64_t serial);

/* Take a place out of its line, for `by`, and tell who watches.  Its memory stays. */
void hf_world_depart(struct hf_world *world, struct hf_place *place,
                     const struct hf_session *by);

/* The place a session took by that id; NULL: it has none. */
struct hf_place *hf_session_place(const struct hf_session *session, uint64_t id);

/* Room for so many tickets, and for so many bytes of their strings.  False: no memory. */
bool hf_answer_reserve(struct hf_answer *answer, size_t tickets, size_t bytes);

/* Make an answer of "yes, and nothing more"; write into it how a place stands (NULL: there
 * is none).  0 or HF_ENOMEM. */
void hf_answer_begin(struct hf_answer *answer, uint64_t serial);
int  hf_answer_standing(struct hf_answer *answer, const struct hf_place *place);

#endif
