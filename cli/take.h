/* take.h - from a command line to a held lock. */
#ifndef TAKE_H
#define TAKE_H

#include "options.h"
#include "signals.h"

#include <holdfast.h>

struct taking {
    const struct args    *args;
    const struct signals *signals;
    struct hf_client     *client;
    struct hf_lock       *lock;   /* out: held, if take() returned 0 */
    int                   signal; /* out: what ended the wait, or 0 */
};

/* Make the lock that args describe and wait for it.  0, or an exit code after
 * having said why.  A signal ends the wait: the queue is left at once, `signal`
 * says which it was.  In any case the lock is the caller's to free. */
int take(struct taking *taking);

#endif
