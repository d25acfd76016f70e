/* hold_events.h - the events of a hold, for tests of its state machine. */
#ifndef HF_TEST_HOLD_EVENTS_H
#define HF_TEST_HOLD_EVENTS_H

#include "core/hold.h"

enum {
    WANT,
    HOLDS,  /* STANDING: granted */
    WAITS,  /* STANDING: waits, one ahead */
    NONE,   /* STANDING: no place */
    LESSER, /* STANDING: granted, with the least weight */
    CHANGED,
    BUSY, /* FAILED: refused */
    DOWN,
    FAILED,
    DROP,
    LEFT,
    GONE,
    EXPIRED,
    DOWNGRADE, /* to the least weight */
    EVENTS
};

/* STANDING: granted, with token 70 and slot 3. */
struct hf_event granted(uint32_t weight);

/* Feed one of these to the hold. */
void step(struct hf_hold *hold, int which);

/* Does `body` end in a failed assert?  It runs in a child process. */
bool aborts(void (*body)(const void *data), const void *data);

#endif
