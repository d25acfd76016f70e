/* leftovers.h - what outlives the command that started it.
 *
 * The guardian of a command that has ended, and left something, says so in its command
 * line, where ps(1) shows it.  Others on this host find it there, by the pid that a
 * line shows as its holder.
 */
#ifndef LEFTOVERS_H
#define LEFTOVERS_H

#include "tree.h"

#include <holdfast.h>

#include <stdbool.h>
#include <stdint.h>

/* What becomes of it: --leftovers. */
enum leftovers {
    LEFTOVERS_WAIT,  /* keep the lock until it is gone */
    LEFTOVERS_END,   /* end it, and keep the lock until it is gone */
    LEFTOVERS_LEAVE, /* give the lock up, and let it go on */
};

struct leftovers_found {
    int64_t            since; /* when the command ended, microseconds since 1970 */
    struct tree_member member[TREE_MEMBERS_MAX]; /* the first of them */
    int                count;                    /* of all */
};

/* In the guardian: the command has just ended. */
void leftovers_announce(void);

/* One look at this host, for many places: each process is looked at once, however many
 * places it has.  Start with { 0 }. */
struct leftovers_look {
    void          *seen;   /* processes, by pid: tsearch(3) */
    struct census *census; /* taken when it is first needed */
};

/* Is what holds this place what its command left?  Only a process of this host can be
 * looked at.  `look` NULL: nobody asks about another place. */
bool leftovers_find(struct leftovers_look *look, const struct hf_entry *entry,
                    struct leftovers_found *ret);
void leftovers_forget(struct leftovers_look *look);

#endif
