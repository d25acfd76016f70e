/* also_flock.h - --also-flock FILE: flock(2) on a file, besides the lock.
 *
 * For the time in which some scripts use flock(1) and others Holdfast: `run` takes its
 * place first, then the file's lock in what is left of -w.  The kernel queues the waiters
 * of a file, and has no time limit for them.  So a helper process waits there, on an open
 * file that it shares with us: a lock that it gets is ours, and it can be killed at any
 * time.
 *
 *     open --> take: free ----------------------> locked --> release
 *                |                                  ^           ^
 *                +--> a helper waits --- it ended --+           |
 *                            +------------ gave up -------------+
 *
 * There is one such file, as there is one lock in this process, so its state is static.
 * Without --also-flock all of these do nothing.
 */
#ifndef ALSO_FLOCK_H
#define ALSO_FLOCK_H

#include "cli_options.h"

#include <poll.h>

/* Open FILE, or create it.  0, or an exit code after having complained. */
int also_flock_open(const struct args *args);

/* The open file; -1: none. */
int also_flock_fd(void);

/* 0: the file's lock is ours.  HF_EBUSY: it is not; with `wait`, poll also_flock_poll(),
 * then ask again.  HF_ESTORE: it cannot be locked; errno tells why. */
int           also_flock_take(bool wait);
struct pollfd also_flock_poll(void);

/* Give the file's lock up, or the wait for it. */
void also_flock_release(void);

#endif
