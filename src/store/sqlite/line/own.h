/* own.h - the places of this session, as this process remembers them.
 *
 * No other process enters a line in our name, so we recognize a repeated ENTER here, and
 * a LEAVE of a place that was taken from us.
 *
 *     ENTER --- a place blocks us ---> WAITS
 *       |                                |
 *       | none does                      | the client that made room granted us;
 *       |                                | or our blockers died, and we grant ourselves
 *       |                                v
 *       +-----------------------------> HOLDS
 *
 * A LEAVE ends both.  So does losing the place: by BREAK, by a session key, or with the
 * files.  We learn of that when we read the place.
 *
 * `last` is how the place stood when we last read it.  It still stands so until `woken`
 * is set: a session that changes our standing wakes us, and we watch the sessions of our
 * blockers, as a session that dies wakes nobody.
 */
#ifndef HF_SQLITE_OWN_H
#define HF_SQLITE_OWN_H

#include "core/hold.h"
#include "store/sqlite/watch.h"

struct hf_sq;
struct hf_sq_ahead;

struct hf_sq_own {
    uint64_t           id;
    uint64_t           seq;
    struct hf_shape    shape;
    char              *line;
    struct hf_standing last;  /* its reason is `asked` */
    char              *asked; /* or NULL */
    bool               woken;
    struct hf_sq_watch watch; /* its ties stay as long as the place waits */

    struct hf_sq_ahead *ahead; /* of a waiter that follows how many are ahead; or NULL */

    struct hf_sq_own *next, **prev;
    struct hf_sq_own *next_by_id, *next_by_seq;
};

struct hf_sq_owns {
    struct hf_sq_own  *first;
    struct hf_sq_own **by_id, **by_seq; /* hash tables */
    size_t             lists;           /* their size: 0 or a power of 2 */
    size_t             alive;           /* how many places there are */
    uint64_t          *lost;            /* ids of places that were taken from us */
    size_t             count, room;
};

/* ---- own.c ------------------------------------------------------------------- */

void hf_sq_owns_finish(struct hf_sq_owns *owns);

/* A new place, to be completed and added, or freed.  NULL: no memory. */
struct hf_sq_own *hf_sq_own_new(struct hf_sq_owns *owns, uint64_t id, const char *line,
                                const struct hf_shape *shape);
void              hf_sq_own_free(struct hf_sq_own *own);

void hf_sq_owns_add(struct hf_sq_owns *owns, struct hf_sq_own *own);

/* Remove and free a place; `lost`: remember that it was taken from us. */
void hf_sq_owns_drop(struct hf_sq_owns *owns, struct hf_sq_own *own, bool lost);

struct hf_sq_own *hf_sq_owns_find(const struct hf_sq_owns *owns, uint64_t id);
struct hf_sq_own *hf_sq_owns_by_seq(const struct hf_sq_owns *owns, uint64_t seq);
bool              hf_sq_owns_lost(const struct hf_sq_owns *owns, uint64_t id);

/* ---- standing.c -------------------------------------------------------------- */

extern const struct hf_standing hf_sq_no_place;

/* Read how our place stands into own->last: 1; or 0 if it was taken from us, and then
 * it is freed.  answer() puts that into `req`; `own` may be NULL. */
int hf_sq_own_read(struct hf_sq *sq, struct hf_sq_own *own);
int hf_sq_own_answer(struct hf_sq *sq, struct hf_sq_own *own, struct hf_req *req);

/* ---- ahead.c ----------------------------------------------------------------- */

/* How many places are ahead of ours, which waits: 1.  0: hf_sq_own_read() must say how it
 * stands.  All sessions in the line are watched from then on. */
int hf_sq_ahead_read(struct hf_sq *sq, struct hf_sq_own *own, uint64_t *ret);

/* What was read may be out of date.  leave(): this place follows no more. */
void hf_sq_ahead_forget(struct hf_sq_own *own);
void hf_sq_ahead_leave(struct hf_sq_own *own);

/* The session `sid` may have died: look whether its places are alive.  Then is_stale() says for
 * each of ours whether the line must be read again; *waits: one of them is alive. */
void hf_sq_ahead_check(struct hf_sq *sq, uint64_t sid);
bool hf_sq_ahead_is_stale(const struct hf_sq_own *own, bool *waits);

/* After check(): that session is not watched any more, as no WATCH waits for it at this moment.
 * The next one watches it again. */
void hf_sq_ahead_unwatched(struct hf_sq *sq);

/* ---- leave.c ----------------------------------------------------------------- */

/* Release the liveness lock, answer the WATCH, and free the place.  The row is not
 * touched. */
void hf_sq_own_end(struct hf_sq *sq, struct hf_sq_own *own, bool lost);

#endif
