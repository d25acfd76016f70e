/* sight.h - what there is to show, as of one moment: the eye without its store, so that
 * pages can be made of anything. */
#ifndef SIGHT_H
#define SIGHT_H

#include "board.h"

struct sight {
    const struct board *board;
    const struct past  *past;
    const char         *store; /* its URL without secrets; not clean */
    const char         *why;   /* not reachable: why; not clean */
    bool                reachable, complete, paused;
    int64_t             p50_us, p99_us; /* round trip; -1: not known */
    int64_t             lost;           /* in the last hour; -1: not known */
    int64_t             as_of;          /* us since 1970; 0: never */
    int64_t             lease_ms;       /* of a fresh session; -1: none has one */
    int64_t             now;            /* us since 1970; while paused, that moment */
};

struct eye;

/* The texts are the eye's. */
void sight_take(struct sight *sight, const struct eye *eye, int64_t now);

#endif
