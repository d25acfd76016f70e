/* own.h - the places of this session, as this process remembers them.
 *
 * Nobody else enters in our name, so a repeated ENTER is known from here, and so
 * is a LEAVE of what was taken from us.
 *
 *     ENTER --- somebody is in the way ---> WAITS
 *       |                                     |
 *       |                                     | the one that made room wrote it down; or those
 *       | nobody is                           | in the way are dead, then we write it
 *       |                                     v
 *       +----------------------------------> HOLDS
 *
 * A LEAVE ends both.  So does the loss of the place, by BREAK, by a will or with the files: it
 * is found out when the place is read.
 *
 * `last` is how the place stood when we last read it.  A place that is not woken still
 * stands so: a session that changes that tells us, and we have an eye on the sessions of those in
 * the way, as the dead tell nobody.
 */
#ifndef HF_SQLITE_OWN_H
#define HF_SQLITE_OWN_H

#include "core/hold.h"

/* Tickets, and the sessions whose end would be their end. */
struct hf_sq_tie {
    uint64_t seq;
    uint64_t sid;
};

struct hf_sq_ties {
    struct hf_sq_tie *tie;
    size_t            count, room;
};

/* A WATCH that waits. */
struct hf_sq_watch {
    struct hf_req      *req;  /* NULL: none does */
    struct hf_sq_own   *own;  /* NULL: of an outsider, which has no place in the line */
    struct hf_sq_ties   ties; /* of these one must go first */
    struct hf_sq_watch *next, **prev;
};

struct hf_sq_own {
    uint64_t           id;
    uint64_t           seq;
    struct hf_shape    shape;
    char              *line;
    struct hf_standing last;  /* its reason is `asked` */
    char              *asked; /* or NULL */
    bool               woken;
    struct hf_sq_watch watch; /* its ties stay as long as the place waits */

    struct hf_sq_own *next, **prev;
    struct hf_sq_own *next_by_id, *next_by_seq;
};

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
