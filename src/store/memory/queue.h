/* queue.h - one line of the memory store: its places and who watches them.
 *
 * A place is granted when it and everything ahead of it fit.  Nobody joins
 * ahead and no place grows, so the granted places are always the first few, and
 * stay granted until they leave: one sum per line, `held`, decides.
 */
#ifndef HF_MEMORY_QUEUE_H
#define HF_MEMORY_QUEUE_H

#include "core/line.h"

struct hf_session;

/* Which news completes a WATCH of somebody who stands in line.  S3 allows all;
 * what a simulation is to find out may need the laziest. */
enum hf_habit {
    HF_WAKE_EITHER, /* a ticket given has left or shrunk, or the asker is granted */
    HF_WAKE_LEFT,   /* the first only, as a server would that knows no rule */
    HF_WAKE_GRANT,  /* the second only, as a server would that counts */
};

struct hf_place {
    struct hf_ticket   ticket; /* its strings: the queue's name, our note */
    uint64_t           id;
    bool               granted;
    char              *note;
    char              *asked;      /* the last word left here, or NULL */
    uint64_t           asked_at;   /* stamps of that, and of the last AMEND; */
    uint64_t           amended_at; /* 0: never */
    struct hf_session *session;
    struct hf_queue   *queue; /* NULL: taken away by a BREAK */
    struct hf_place   *prev;
    struct hf_place   *next;
    struct hf_place   *beside; /* the session's next */
};

struct hf_watch {
    struct hf_session *session;
    uint64_t           serial; /* of the request, for its answer */
    struct hf_queue   *queue;  /* NULL once fired */
    struct hf_place   *mine;   /* the asker's, NULL if it has none */
    bool               waits;  /* has a place and watches others */
    struct hf_watch   *next;   /* in the queue, then in the session's news */
    size_t             count;
    uint64_t           seqs[];
};

struct hf_queue {
    char            *name;
    struct hf_place *first;
    struct hf_place *last;
    struct hf_watch *watches;
    uint64_t         held;    /* weight of all that is granted */
    size_t           waiting; /* places that are not */
    uint64_t         changed; /* stamp of the last change */
    struct hf_queue *next;
};

struct hf_queue *hf_queue_new(const char *name);
void             hf_queue_free(struct hf_queue *queue);

/* Would a newcomer of this shape be granted at once? */
bool hf_queue_free_for(const struct hf_queue *queue, const struct hf_shape *shape);

/* Free a place that is in no line. */
void hf_place_free(struct hf_place *place);

/* Put a place at the end.  `wall` is the time of day, for people. */
void hf_queue_join(struct hf_queue *queue, struct hf_place *place, int64_t wall);

/* Take a place out and grant what then fits. */
void hf_queue_part(struct hf_queue *queue, struct hf_place *place, int64_t wall);

/* Make a place weigh less and grant what then fits. */
void hf_queue_lessen(struct hf_queue *queue, struct hf_place *place, uint32_t weight,
                     int64_t wall);

struct hf_place *hf_queue_find(const struct hf_queue *queue, uint64_t seq);

/* The place with that token.  NULL: there is none, or `queue` is NULL. */
struct hf_place *hf_queue_find_token(const struct hf_queue *queue, uint64_t token);

/* Has what this watch waits for happened already?  `since`: see hf_req.stamp. */
bool hf_watch_due(const struct hf_watch *watch, enum hf_habit habit, uint64_t since);

/* The same, asked when the ticket `seq` has just left or shrunk. */
bool hf_watch_hit(const struct hf_watch *watch, enum hf_habit habit, uint64_t seq);

#endif
