/* crowd.h - many of one process wait in one line, driven by a loop of our own.
 *
 * Whoever asked for it counts what the server does, from one mark to the next: there we say
 * "mark", and go on at a line on stdin.
 */
#ifndef BENCH_CROWD_H
#define BENCH_CROWD_H

#include <stddef.h>

/* They queue behind a holder, then each has it once.  All return how many did. */
unsigned long crowd_drain(const char *url, size_t waiters);

/* They wait.  A mark when all do. */
unsigned long crowd_idle(const char *url, size_t waiters);

/* Those who will have it are of two sessions in turn, and queue again then: the line stays as
 * long as it is for so many hand-overs, and each is from one session to the other.  A
 * mark before the first and after the last. */
unsigned long crowd_pass(const char *url, size_t waiters, size_t hands, double *seconds);

#endif
