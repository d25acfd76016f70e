/* happen.h - what can happen to a hold, for tests of the state machine. */
#ifndef HF_TEST_HAPPEN_H
#define HF_TEST_HAPPEN_H

#include "core/hold.h"

enum {
    WANT,
    HOLDS,  /* STANDING: granted */
    WAITS,  /* STANDING: one is ahead */
    NONE,   /* STANDING: there is no place of ours */
    LESSER, /* STANDING: granted, and it weighs as little as it can */
    CHANGED,
    BUSY, /* FAILED: refused */
    DOWN,
    FAILED,
    DROP,
    LEFT,
    GONE,
    EXPIRED,
    LESSEN, /* to as little as we can */
    EVENTS
};

/* A place that holds, with token 70 and slot 3. */
struct hf_event granted(uint32_t weight);

/* Let one of these happen. */
void step(struct hf_hold *hold, int which);

/* Does it end in a failed assert?  Tried in a child process. */
bool aborts(void (*body)(const void *data), const void *data);

#endif
