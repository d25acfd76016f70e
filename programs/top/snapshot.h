/* snapshot.h - the state to show at one moment.  It does not depend on a monitor, so that tests can
 * make up any state. */
#ifndef SNAPSHOT_H
#define SNAPSHOT_H

#include "locks.h"

struct snapshot {
    const struct locks   *locks;
    const struct history *history;
    const char           *store; /* its URL without secrets; not clean */
    const char           *why;   /* why it is not reachable; not clean */
    bool                  reachable, complete, paused;
    int64_t               p50_us, p99_us; /* round trip; -1: not known */
    int64_t               lost;           /* locks lost in the last hour; -1: not known */
    int64_t               as_of;          /* us since 1970; 0: never */
    int64_t               lease_ms;       /* of a fresh session; -1: none has one */
    int64_t               now;            /* us since 1970; does not move while paused */
};

struct monitor;

/* Locks, history and texts still belong to the monitor. */
void snapshot_take(struct snapshot *snapshot, const struct monitor *monitor, int64_t now);

#endif
