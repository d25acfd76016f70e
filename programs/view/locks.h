/* locks.h - the locks of a store that are in use, as a store watch reports them. */
#ifndef LOCKS_H
#define LOCKS_H

#include "history.h"

#include <holdfast.h>

/* One lock that somebody holds or waits for. */
struct lock {
    const char             *name;
    const struct hf_report *report; /* its places, at least one */
    size_t                  holders;
    size_t                  waiters;
    const struct hf_entry *holder; /* the first, or a note why there is none; NULL: nobody
                                       holds it at present */
    size_t                 holder_at; /* index of the first holder */
    int64_t waits_since; /* when the longest wait began, us since 1970; 0: nobody waits */
    int64_t seen;        /* when `left_ms` was read */
    uint64_t version;    /* of struct locks, when this lock changed */
    int64_t *left_ms;    /* of each place, as of `seen` */
};

struct locks {
    struct lock **lock; /* sorted by name */
    size_t        count, room;
    size_t        holders, waiters; /* of all locks */
    uint64_t      version;          /* changes so far */
    size_t        most; /* locks, since memory was last returned to the system */
};

void locks_finish(struct locks *locks);

/* The lock of that name now has the places of `report`, which may be none.  Takes over the
 * report.  Adds the differences to `history`, unless that is NULL.  false: no memory. */
bool locks_update(struct locks *locks, const char *name, struct hf_report *report,
                  int64_t now, struct history *history);

/* Remove all locks that were not updated after `version`. */
void locks_remove_unseen(struct locks *locks, uint64_t version, int64_t now,
                         struct history *history);

/* Return memory to the system if most locks have gone.  Call it after freeing your own memory
 * about them. */
void locks_trim(struct locks *locks);

/* Take the leases from a report about all locks, for the places that are still the same. */
void locks_refresh_leases(struct locks *locks, const struct hf_report *all, int64_t now);

/* NULL: nobody holds it or waits for it. */
const struct lock *locks_find(const struct locks *locks, const char *name);

/* left_ms of the place at that index, as last seen. */
int64_t lock_left_ms(const struct lock *lock, size_t place);

/* Waiters times the longest wait, in microseconds. */
double lock_contention(const struct lock *lock, int64_t now);

/* All locks, by contention, then by name.  `ret` has room for locks->count. */
void locks_sort(const struct locks *locks, int64_t now, const struct lock **ret);

#endif
