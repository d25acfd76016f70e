/* held.h - what the runs around a command hold, by HOLDFAST_HELD.
 *
 * It has the places, joined by blanks, each as
 *
 *     NAME/TOKEN/PID@HOST        nightly/1763240000123456/4242@web1
 *
 * with %XX for '/', '%', blanks and controls in NAME and HOST.  Which store a place is
 * in need not be said, nor of which kind it is: a holder in a line with that token,
 * process and host is that place, and the line tells the rest.
 *
 * If somebody cleaned the environment, /proc still shows which runs are around us on this
 * host (around.h).
 */
#ifndef HELD_H
#define HELD_H

#include <stdbool.h>
#include <stdint.h>

/* Is there a place in a line of that name?  In whatever store. */
bool held_name(const char *name);

/* Is this one of them? */
bool held_place(const char *name, uint64_t token, const char *host, int64_t pid);

/* Add a place; -1: no memory. */
int held_add(const char *name, uint64_t token, int64_t pid);

#endif
