/* timer.h - the times that the guardian has to keep; CLOCK_BOOTTIME ns. */
#ifndef TIMER_H
#define TIMER_H

#include <stdint.h>

/* INT64_MAX: never, or done. */
struct timer {
    int     fd;       /* readable when the next of them has come */
    int64_t deadline; /* the lock is surely held until then */
    int64_t ask_at;   /* when to send --signal: the deadline is near */
    int64_t stop_at;  /* when --max-run is over */
    int64_t end_at;   /* when to kill what is left */
    int64_t tell_at;  /* when to tell of leftovers */
};

/* None is set.  0, or -1 and errno. */
int timer_open(struct timer *timer);

/* After a change. */
void timer_set(struct timer *timer);

/* The deadline is another one; the command is to have `grace_ns` before. */
void timer_set_deadline(struct timer *timer, int64_t deadline, int64_t grace_ns);

#endif
