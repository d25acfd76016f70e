/* lock_round.h - an acquire and a release, alone or with a hand-over, to be repeated
 * while the connection to the server fails.
 *
 * Whatever is lost or repeated: there is one place while the lock is held and none after
 * its release, the release succeeds, and the next waiter is granted.
 */
#ifndef HF_TEST_LOCK_ROUND_H
#define HF_TEST_LOCK_ROUND_H

#include "lib/server.h"

struct lock_round {
    struct actor a, b; /* the client whose connection fails, and another */
    char         name[32];
    int          limit_ms; /* for the other to get a free lock */
    uint64_t     token;    /* the last */
};

typedef void lock_round_play(struct lock_round *round);

/* `a` holds the lock: check that, release it, and let `b` get it. */
void lock_round_have_and_leave(struct lock_round *round);

lock_round_play lock_round_alone; /* acquire and release */
lock_round_play
    lock_round_handed_over; /* the other holds it; the client queues, and gets it */

void lock_round_close(struct lock_round *round);

#endif
