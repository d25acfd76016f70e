/* world.h - the data of a memory store: places in lines, and the sessions they belong to.
 *
 * Pure: it reads no clock and takes no lock.  The time is a parameter, and its users
 * make sure that only one of them calls at a time.  So stores can use it within a
 * process, and a simulation can put any network between a client and its world.
 *
 * A request is carried out at once.  A WATCH or WATCH_STORE that has not come true is
 * kept: at its place, at its line or in the world.  When it has come true, it moves to
 * `due` of its session.
 */
#ifndef HF_MEMORY_WORLD_H
#define HF_MEMORY_WORLD_H

#include "store/findings.h"
#include "store/requests.h"
#include "store/store.h"

struct hf_world_place {
    struct hf_place        place; /* its strings: the queue's name, our note */
    uint64_t               id;    /* chosen by the session */
    bool                   granted;
    size_t                 ahead; /* places, granted or not */
    char                  *note;
    char                  *asked;   /* the last reason left here, or NULL */
    struct hf_requests     watches; /* of its session */
    struct hf_session     *session;
    struct hf_queue       *queue; /* NULL: taken away by a BREAK */
    struct hf_world_place *prev, *next;
    struct hf_world_place *beside; /* the next one of the session */
};

/* One line. */
struct hf_queue {
    char                  *name;
    struct hf_world_place *first, *last;
    struct hf_requests     watches; /* of any session, which is in `work` */
    struct hf_sum          all;     /* total that a new place has ahead */
    size_t                 waiting; /* places that are not granted */
    uint64_t               changed; /* stamp of the last change */
    struct hf_queue       *next;
};

struct hf_session {
    uint64_t               number; /* 0: not begun, or over */
    hf_time                ttl;    /* 0: no lease */
    hf_time                until;  /* HF_NEVER without a lease */
    struct hf_world_place *places;
    struct hf_requests due; /* have come true, or were left over when the session ended */
    uint64_t store_seen;    /* stamp when the last WATCH_STORE was answered, or 0 */
    void    *owner;         /* for the bell */
    struct hf_session *next;

    /* Memory that the last answer points to. */
    struct hf_place       *place;
    size_t                 room;
    char                  *text;
    size_t                 text_room;
    struct hf_finding_list findings;
};

#define HF_WORLD_BUCKETS 64

struct hf_world {
    struct hf_queue   *queue[HF_WORLD_BUCKETS]; /* by the name's hash */
    struct hf_session *sessions;
    struct hf_requests store_watches; /* not yet due */
    uint64_t           number;        /* of the last session; may start anywhere */
    uint64_t           token;   /* last token, over all lines; the seq is the same */
    uint64_t           stamp;   /* changes so far, from 1 */
    uint64_t           emptied; /* stamp when a line was last removed */
    int64_t            wall;    /* time of day, set by the caller */
    bool               eager; /* a change completes every WATCH of a place in its line */

    /* Called when a session has a request due, or is over.  May be NULL. */
    void (*bell)(void *owner);
};

/* `token`: the highest ever given out before. */
void hf_world_init(struct hf_world *world, uint64_t token);

/* Begin a session in zeroed memory of the caller, which must not move until the session
 * has ended; finish() frees the answers' memory.  The owner has to renew it in time. */
void hf_world_begin(struct hf_world *world, struct hf_session *session, hf_time ttl,
                    hf_time now);
void hf_session_renew(struct hf_session *session, hf_time now);
void hf_world_end(struct hf_world *world, struct hf_session *session);
void hf_session_finish(struct hf_session *session);

/* End sessions whose lease is over.  Returns when the next lease ends. */
hf_time hf_world_pass(struct hf_world *world, hf_time now);

/* NULL: there is none of that number. */
struct hf_session *hf_world_session(const struct hf_world *world, uint64_t number);

/* Carry a request out.  False: it is kept.  The answer is valid until the session's
 * next request. */
bool hf_world_ask(struct hf_world *world, struct hf_session *session, struct hf_req *req);

/* Answer a kept request that has come true; NULL: there is none. */
struct hf_req *hf_session_next_due(struct hf_session *session);

/* Drop a kept request; false: it is due already.  Or move all kept requests of a
 * session to `due`. */
bool hf_world_forget(struct hf_world *world, struct hf_req *req);
void hf_world_unwatch(struct hf_world *world, struct hf_session *session);

/* ---- Between the parts of the world ------------------------------------------- */

struct hf_queue *hf_queue_new(const char *name);
void             hf_queue_free(struct hf_queue *queue);

/* Append a place to a line; remove one; free one that is in no line. */
void hf_queue_join(struct hf_queue *queue, struct hf_world_place *place);
void hf_queue_part(struct hf_world_place *place);
void hf_world_place_free(struct hf_world_place *place);

/* After each change: walk the line from the head, grant the places that pass, and set
 * `ahead`.  `wall` is the time of day, for people. */
void hf_queue_settle(struct hf_queue *queue, int64_t wall);

/* The place with that token; NULL: there is none, or `queue` is NULL. */
struct hf_world_place *hf_queue_find(const struct hf_queue *queue, uint64_t token);

/* The place that a session took by that id; NULL: it has none. */
struct hf_world_place *hf_session_place(const struct hf_session *session, uint64_t id);

/* Memory for an answer; NULL: no memory. */
char *hf_session_text(struct hf_session *session, size_t size);

/* How a place stands; NULL: there is none. */
struct hf_standing hf_world_place_standing(const struct hf_world_place *place);

/* The line of that name, created if `make`; NULL: there is none, or no memory. */
struct hf_queue *hf_world_line(struct hf_world *world, const char *name, bool make);

/* A line has changed: settle it, and check its WATCHes.  Or only check them. */
void hf_world_changed(struct hf_world *world, struct hf_queue *queue);
void hf_world_tell(struct hf_world *world, struct hf_queue *queue);

/* Remove a place from its line, and check the WATCHes.  Its memory stays. */
void hf_world_depart(struct hf_world *world, struct hf_world_place *place);

/* Remove a line that is empty. */
void hf_world_tidy(struct hf_world *world, struct hf_queue *queue);

/* Has this WATCH come true?  `place`: the one of its id, or NULL. */
bool hf_watch_due(const struct hf_queue *queue, const struct hf_world_place *place,
                  const struct hf_req *req);

/* Answer how the place of the caller stands. */
int hf_answer_standing(struct hf_session *session, struct hf_req *req);

/* LIST and DIAGNOSE: 0 or HF_E... */
int hf_world_list(struct hf_world *world, struct hf_session *session, struct hf_req *req);
int hf_world_diagnose(struct hf_world *world, struct hf_session *session,
                      struct hf_req *req);

#endif
