/* world.h - what a memory store keeps: places in lines, and the sessions they belong to.
 *
 * Pure: it reads no clock and takes no lock.  The time is a parameter, and whoever shares a
 * world sees to it that one at a time asks.  So stores can use it within a process, and a
 * simulation can put any network between a client and its world.
 *
 * A request is carried out at once.  A WATCH or SURVEY that has not come true is kept: at its
 * place, its line or in the world.  As soon as it has, it is among the news of its session.
 */
#ifndef HF_MEMORY_WORLD_H
#define HF_MEMORY_WORLD_H

#include "store/findings.h"
#include "store/requests.h"
#include "store/store.h"

struct hf_place {
    struct hf_ticket   ticket; /* its strings: the queue's name, our note */
    uint64_t           id;     /* chosen by the session */
    bool               granted;
    size_t             ahead; /* places, granted or not */
    char              *note;
    char              *asked;   /* the last reason left here, or NULL */
    struct hf_requests watches; /* of its session, for this place */
    struct hf_session *session;
    struct hf_queue   *queue; /* NULL: taken away by a BREAK */
    struct hf_place   *prev, *next;
    struct hf_place   *beside; /* the session's next */
};

/* One line. */
struct hf_queue {
    char              *name;
    struct hf_place   *first, *last;
    struct hf_requests watches; /* of anybody, for the line; `work` is the session */
    struct hf_sum      all;     /* what a newcomer has ahead */
    size_t             waiting; /* places that are not granted */
    uint64_t           changed; /* stamp of the last change */
    struct hf_queue   *next;
};

struct hf_session {
    uint64_t           number; /* 0: not begun, or over */
    hf_time            ttl;    /* 0: no lease */
    hf_time            until;  /* HF_NEVER without a lease */
    struct hf_place   *places;
    struct hf_requests news; /* came true, not yet answered; or left over when it ended */
    uint64_t           surveyed; /* stamp when a SURVEY last ended; 0: none did */
    void              *owner;    /* for the bell */
    struct hf_session *next;

    /* What the last answer points to. */
    struct hf_ticket      *ticket;
    size_t                 room;
    char                  *text;
    size_t                 text_room;
    struct hf_finding_list findings;
};

#define HF_WORLD_BUCKETS 64

struct hf_world {
    struct hf_queue   *queue[HF_WORLD_BUCKETS]; /* by the name's hash */
    struct hf_session *sessions;
    struct hf_requests surveys; /* that wait */
    uint64_t           number;  /* last session; may begin anywhere */
    uint64_t           token;   /* last token, over all lines; the seq is the same */
    uint64_t           stamp;   /* changes so far, from 1 */
    uint64_t           emptied; /* stamp when a line was last forgotten */
    int64_t            wall;    /* the time of day, kept up by the caller */
    bool               eager; /* a change completes every WATCH of a place in its line */

    /* Called when a session has news, or is over.  May be NULL. */
    void (*bell)(void *owner);
};

/* `token`: the highest ever given out before. */
void hf_world_init(struct hf_world *world, uint64_t token);

/* Begin a session: zeroed memory of the caller's, that stays where it is until the session
 * has ended; finish() frees what answers pointed to.  Its owner renews it in time. */
void hf_world_begin(struct hf_world *world, struct hf_session *session, hf_time ttl,
                    hf_time now);
void hf_session_renew(struct hf_session *session, hf_time now);
void hf_world_end(struct hf_world *world, struct hf_session *session);
void hf_session_finish(struct hf_session *session);

/* End the sessions whose time is up.  Returns when the next one's will be. */
hf_time hf_world_pass(struct hf_world *world, hf_time now);

/* NULL: there is none of that number. */
struct hf_session *hf_world_session(const struct hf_world *world, uint64_t number);

/* Carry a request out.  False: it is kept.  The answer points to memory of the session, until
 * it asks for something else. */
bool hf_world_ask(struct hf_world *world, struct hf_session *session, struct hf_req *req);

/* One that was kept and has come true, answered; or NULL. */
struct hf_req *hf_session_news(struct hf_session *session);

/* Forget one that was kept.  False: it has come true already.  Or move all that were kept for
 * a session to its news. */
bool hf_world_forget(struct hf_world *world, struct hf_req *req);
void hf_world_unwatch(struct hf_world *world, struct hf_session *session);

/* ---- Between the parts of the world --------------------------------------- */

struct hf_queue *hf_queue_new(const char *name);
void             hf_queue_free(struct hf_queue *queue);

/* Put a place at the end; take one out; free one that is in no line. */
void hf_queue_join(struct hf_queue *queue, struct hf_place *place);
void hf_queue_part(struct hf_place *place);
void hf_place_free(struct hf_place *place);

/* After each change: add up the places from the head, grant those that pass, and tell each
 * how many are ahead.  `wall` is the time of day, for people. */
void hf_queue_settle(struct hf_queue *queue, int64_t wall);

/* The place with that token; NULL: there is none, or `queue` is NULL. */
struct hf_place *hf_queue_find(const struct hf_queue *queue, uint64_t token);

/* The place that a session took by that id; NULL: it has none. */
struct hf_place *hf_session_place(const struct hf_session *session, uint64_t id);

/* Room for so many bytes that an answer points to; NULL: no memory. */
char *hf_session_text(struct hf_session *session, size_t size);

/* How a place stands; NULL: there is none. */
struct hf_standing hf_place_standing(const struct hf_place *place);

/* The line of that name; made if `make`. NULL: there is none, or no memory. */
struct hf_queue *hf_world_line(struct hf_world *world, const char *name, bool make);

/* A line has changed: settle it, and tell.  Or its places stand in another way, and that is
 * all: tell. */
void hf_world_changed(struct hf_world *world, struct hf_queue *queue);
void hf_world_tell(struct hf_world *world, struct hf_queue *queue);

/* Take a place out of its line, and tell.  Its memory stays. */
void hf_world_depart(struct hf_world *world, struct hf_place *place);

/* Forget a line that is empty. */
void hf_world_tidy(struct hf_world *world, struct hf_queue *queue);

/* Has this WATCH come true?  `place`: that of its id, or NULL. */
bool hf_watch_due(const struct hf_queue *queue, const struct hf_place *place,
                  const struct hf_req *req);

/* Answer how the own place stands. */
int hf_answer_standing(struct hf_session *session, struct hf_req *req);

/* LIST and EXAMINE: 0 or HF_E... */
int hf_world_list(struct hf_world *world, struct hf_session *session, struct hf_req *req);
int hf_world_examine(struct hf_world *world, struct hf_session *session,
                     struct hf_req *req);

#endif
