/* leftovers.h - processes that outlive the command that started them.
 *
 * When the command has ended and has left some, its guardian writes so into its own
 * command line, where ps(1) shows it.  Other processes on this host find it there, by the
 * pid of the holder.
 */
#ifndef LEFTOVERS_H
#define LEFTOVERS_H

#include "guard/tree.h"

#include <holdfast.h>

#include <stdbool.h>
#include <stdint.h>

/* --leftovers: what to do about them. */
enum leftovers {
    LEFTOVERS_WAIT,  /* keep the lock until they are gone */
    LEFTOVERS_END,   /* end them, and keep the lock until they are gone */
    LEFTOVERS_LEAVE, /* release the lock, and let them run on */
};

struct leftovers_found {
    int64_t            since; /* when the command ended, microseconds since 1970 */
    struct tree_member member[TREE_MEMBERS_MAX]; /* the first of them */
    int                count;                    /* of all */
};

/* In the guardian: write that the command has just ended. */
void leftovers_announce(void);

/* A scan of this host for many places: it looks at each process once, however many places
 * the process has.  Start with { 0 }. */
struct leftovers_scan {
    void            *seen;     /* processes, by pid: tsearch(3) */
    struct snapshot *snapshot; /* taken when it is first needed */
};

/* Do only leftovers of its command hold this place?  False if it is not on this host.
 * `look` NULL: this is the only place to look at. */
bool leftovers_find(struct leftovers_scan *look, const struct hf_entry *entry,
                    struct leftovers_found *ret);
void leftovers_forget(struct leftovers_scan *look);

#endif
