/* stint.h - a command's time under a lock, from the guardian's birth to the end of
 * all that was started.  `run` serves one, `elect` one after the other.
 *
 * Each has a guardian and a session of its own: the guardian must be forked while
 * the store is closed, and a place that was lost is lost with all around it.
 */
#ifndef STINT_H
#define STINT_H

#include "options.h"
#include "signals.h"

enum stint_end {
    STINT_REFUSED,  /* the lock was never held */
    STINT_FAILED,   /* it was, but the command could not be executed */
    STINT_ENDED,    /* the command ended by itself */
    STINT_LOST,     /* the lock was lost: the command was ended */
    STINT_ORPHANED, /* the guardian was killed: the command was ended */
};

struct stint {
    const struct args    *args;
    const struct signals *signals;
    bool                  repeats; /* others may follow: say so when it begins, and
                                      keep stdin and stdout for them */

    /* Out.  What went wrong was said. */
    enum stint_end end;
    int            code;      /* to exit with */
    int64_t        served_ns; /* how long the command had the lock */
    bool           stop;      /* the user wants no other stint */
    bool           interrupted;
    bool           lent; /* the command had the terminal */
};

void stint_serve(struct stint *stint);

/* The exit code, after the last; does not return if SIGINT ended it. */
int stint_exit(const struct stint *stint);

#endif
