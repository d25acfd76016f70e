/* happen.h - what can happen to a hold, for tests of the state machine. */
#ifndef HF_TEST_HAPPEN_H
#define HF_TEST_HAPPEN_H

#include "core/hold.h"

enum {
    WANT,
    FITS,    /* LINE: we are the first */
    BEHIND,  /* LINE: somebody is ahead */
    ABSENT,  /* LINE: somebody is there, we are not */
    EMPTY,   /* LINE: nobody is there */
    STRANGE, /* LINE: what is ahead is another kind of lock */
    LESSER,  /* LINE: we are the first, and weigh as little as we can */
    WOKEN,
    DOWN,
    FAILED,
    DROP,
    LEFT,
    GONE,
    EXPIRED,
    LESSEN, /* to as little as we can */
    EVENTS
};

/* The line as an answer shows it: somebody ahead with ticket 5 and token 50, or
 * not; ourselves with 7, 70 and slot 3, or not.  Valid until the next call. */
struct hf_event seen(const struct hf_shape *ahead, const struct hf_shape *mine);

/* Let one of these happen. */
void step(struct hf_hold *hold, int which);

/* Does it end in a failed assert?  Tried in a child process. */
bool aborts(void (*body)(const void *data), const void *data);

#endif
