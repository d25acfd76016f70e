/* will.h - the session's will: holdfast hands it over to the guardian, which executes it
 * if holdfast is killed.  That comes before the session asks for a place, so that none is
 * left that the guardian cannot end.
 *
 * A session in a file needs none: its lifeline is the kernel's to cut, and the guardian
 * has that.
 */
#ifndef WILL_H
#define WILL_H

#include "guard.h"

#include <holdfast.h>

/* holdfast's end. */
struct will {
    struct guard *guard;
    bool          owed; /* the guardian could not be told yet */
    size_t        size;
    uint8_t       bytes[GUARD_WILL_MAX]; /* the last one */
};

/* The library's on_will. */
void will_take(struct will *will, const void *bytes, size_t size);

/* Try again if the guardian could not be told; NULL: there is none. */
void will_hand_over(struct will *will);
void will_forget(struct will *will);

/* The end of the guardian, or of the warden.  The memory is in no core dump, and not in
 * the command's process. */
struct will_kept {
    uint8_t *bytes; /* GUARD_WILL_MAX of them */
    size_t   size;  /* 0: there is none */
};

/* 0, or -1 and errno. */
int will_make_room(struct will_kept *kept);

/* End the session, if there is a will.  Takes a while if the server is away: until
 * `deadline`, but some seconds at least.  Whoever could be told how it went is dead. */
void will_execute(struct will_kept *kept, int64_t deadline);

#endif
