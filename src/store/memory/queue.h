/* queue.h - one line of the memory store: its places, and the WATCHes that wait for it.
 *
 * Whatever changes the line, hf_queue_settle() follows: one walk from the head, which adds
 * up the places (core/line.h), grants those that pass, and tells each how many are ahead.
 */
#ifndef HF_MEMORY_QUEUE_H
#define HF_MEMORY_QUEUE_H

#include "store/store.h"

struct hf_session;

struct hf_place {
    struct hf_ticket   ticket; /* its strings: the queue's name, our note */
    uint64_t           id;
    bool               granted;
    size_t             ahead; /* places, granted or not */
    char              *note;
    char              *asked; /* the last reason left here, or NULL */
    struct hf_session *session;
    struct hf_queue   *queue; /* NULL: taken away by a BREAK */
    struct hf_place   *prev;
    struct hf_place   *next;
    struct hf_place   *beside; /* the session's next */
};

/* A WATCH or SURVEY that has not come true yet. */
struct hf_watch {
    struct hf_session *session;
    uint64_t           serial; /* of the request, for its answer */
    struct hf_req      req;    /* as it came, with a copy of the reason that it knows */
    char              *asked;  /* that copy, or NULL */
    struct hf_watch   *next;   /* in the queue, then in the session's news */
};

struct hf_queue {
    char            *name;
    struct hf_place *first;
    struct hf_place *last;
    struct hf_watch *watches;
    struct hf_sum    all;     /* what a newcomer has ahead */
    size_t           waiting; /* places that are not granted */
    uint64_t         changed; /* stamp of the last change */
    struct hf_queue *next;
};

struct hf_queue *hf_queue_new(const char *name);
void             hf_queue_free(struct hf_queue *queue);

/* Free a place that is in no line. */
void hf_place_free(struct hf_place *place);

/* Put a place at the end; take one out. */
void hf_queue_join(struct hf_queue *queue, struct hf_place *place);
void hf_queue_part(struct hf_queue *queue, struct hf_place *place);

/* After each change.  `wall` is the time of day, for people. */
void hf_queue_settle(struct hf_queue *queue, int64_t wall);

/* How a place stands; NULL: there is none. */
struct hf_standing hf_place_standing(const struct hf_place *place);

/* The place with that token; NULL: there is none, or `queue` is NULL. */
struct hf_place *hf_queue_find(const struct hf_queue *queue, uint64_t token);

#endif
