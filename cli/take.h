/* take.h - from a command line to a held lock. */
#ifndef TAKE_H
#define TAKE_H

#include "options.h"
#include "sentry.h"
#include "signals.h"
#include "will.h"

#include <holdfast.h>

struct taking {
    const struct args    *args;
    const struct signals *signals;
    struct hf_client     *client;
    struct will          *will;   /* to be handed over to a guardian; NULL: none */
    struct sentry        *sentry; /* to be told what is held; NULL: none */
    bool                  owned;  /* stdin is our owner's: if it ends, so does the wait */
    int64_t               give_up_at; /* with -w: when; CLOCK_BOOTTIME ns */
    struct hf_lock       *lock;       /* out */
    int                   code;       /* out: the exit code, if it is not held */
    int                   signal;     /* out: what ended the wait, or 0 */
    bool                  disowned;   /* out: that ended it */
};

/* Make the lock that args describe and wait for it.  False: it is not held, and
 * the user was told why.  A signal ends the wait: the queue is left at once.  SIGTSTP
 * only interrupts it: the queue is joined again when we are continued.  In any case the
 * lock is the caller's to free. */
bool take(struct taking *taking);

#endif
