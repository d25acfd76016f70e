/* own.h - the tickets of this session, as this process remembers them.
 *
 * Nobody else enters in our name, so a repeated ENTER is known from here, and so
 * is a LEAVE of what was taken from us.
 */
#ifndef HF_SQLITE_OWN_H
#define HF_SQLITE_OWN_H

#include "core/line.h"

/* A ticket, and the session whose end would be its end. */
struct hf_sq_tie {
    uint64_t seq;
    uint64_t sid;
};

struct hf_sq_own {
    uint64_t          id;
    uint64_t          seq;
    struct hf_shape   shape;
    char             *line;
    bool              held;    /* granted, as far as we have heard */
    bool              woken;   /* told of news since we last looked at the line */
    bool              alarmed; /* one in the line was found dead: look for more */
    struct hf_sq_tie *ahead;   /* those in the way when we last looked */
    size_t            count;

    struct hf_sq_watch *watches; /* of this ticket; watch.c */
    struct hf_sq_own   *next, **prev;
    struct hf_sq_own   *next_by_id, *next_by_seq;
};

struct hf_sq_watch;

struct hf_sq_owns {
    struct hf_sq_own  *first;
    struct hf_sq_own **by_id, **by_seq; /* lists, found by the last bits of a number */
    size_t             lists;           /* so many of each: 0 or a power of 2 */
    size_t             alive;           /* how many there are */
    uint64_t          *lost;            /* ids of tickets that were taken from us */
    size_t             count, room;
};

void hf_sq_owns_finish(struct hf_sq_owns *owns);

/* Room for a ticket, to be completed and added, or freed.  NULL: no memory. */
struct hf_sq_own *hf_sq_own_new(struct hf_sq_owns *owns, uint64_t id, const char *line,
                                const struct hf_shape *shape);
void              hf_sq_own_free(struct hf_sq_own *own);

void hf_sq_owns_add(struct hf_sq_owns *owns, struct hf_sq_own *own);

/* Remove and free it: given up, or taken from us. */
void hf_sq_owns_drop(struct hf_sq_owns *owns, struct hf_sq_own *own, bool lost);

struct hf_sq_own *hf_sq_owns_find(const struct hf_sq_owns *owns, uint64_t id);
struct hf_sq_own *hf_sq_owns_by_seq(const struct hf_sq_owns *owns, uint64_t seq);
bool              hf_sq_owns_lost(const struct hf_sq_owns *owns, uint64_t id);

#endif
