/* crowd.h - many waiters of one process for one lock, driven by our own event loop.
 *
 * At a mark we print "mark" and go on after a line on stdin.  The caller counts the server's work
 * from one mark to the next.
 */
#ifndef BENCH_CROWD_H
#define BENCH_CROWD_H

#include <stddef.h>

/* The waiters queue behind a holder, then each gets the lock once.  All three return the number
 * of operations. */
unsigned long crowd_drain(const char *url, size_t waiters);

/* The waiters only wait.  A mark when all of them do. */
unsigned long crowd_idle(const char *url, size_t waiters);

/* The waiters that get the lock alternate between two sessions, and queue again after their turn:
 * the queue keeps its length for so many hand-overs, each from one session to the other.  A mark
 * before the first and after the last. */
unsigned long crowd_pass(const char *url, size_t waiters, size_t hands, double *seconds);

#endif
