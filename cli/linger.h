/* linger.h - --hold-at-least: the lock is kept for a while after the command's end.
 *
 * Machines whose clocks differ start the same job at different times.  A job that is over
 * before the last of them has asked would be run again.
 */
#ifndef LINGER_H
#define LINGER_H

#include "supervise.h"

struct lingered {
    bool outlived; /* the lock was surely ours when the command had ended */
    int  signal;   /* what ended the wait early; 0: nothing did */
};

/* Nothing of the command is left: keep the lock until s->hold_until.  A signal ends that,
 * and so does the loss of the lock. */
struct lingered linger(struct supervisor *s);

#endif
