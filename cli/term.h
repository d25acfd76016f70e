/* term.h - a command's term under a lock, from the guardian's birth to the end of
 * all that was started.  `run` serves one, `elect` one after the other.
 *
 * Each has a guardian and a session of its own: the guardian must be forked while
 * the store is closed, and a place that was lost is lost with all around it.
 */
#ifndef TERM_H
#define TERM_H

#include "options.h"
#include "signals.h"

enum term_end {
    TERM_REFUSED,  /* the lock was never held */
    TERM_FAILED,   /* it was, but the command could not be executed */
    TERM_ENDED,    /* the command ended by itself */
    TERM_LOST,     /* the lock was lost: the command was ended */
    TERM_ORPHANED, /* the guardian was killed: the command was ended */
};

struct term {
    const struct args    *args;
    const struct signals *signals;
    bool                  repeats; /* others may follow: say so when it begins, and
                                      keep stdin and stdout for them */

    /* Out.  What went wrong was said. */
    enum term_end end;
    int           code;      /* to exit with */
    int64_t       served_ns; /* how long the command had the lock */
    bool          stop;      /* whoever started us wants no other */
    bool          interrupted;
    bool          lent; /* the command had the terminal */
};

void term_serve(struct term *term);

/* The exit code, after the last; does not return if SIGINT ended it. */
int term_exit(const struct term *term);

#endif
