/* around.h - the runs around us, as /proc shows them.
 *
 *     holdfast run NAME ... ---- guardian ---- command ---- ... ---- we
 *
 * For a `run` that was started with another environment, as sudo(8) does, and knows nothing
 * of HOLDFAST_HELD.  A program that holds a lock by itself and starts us is no such case: it
 * need not wait for our end.
 */
#ifndef AROUND_H
#define AROUND_H

#include <stdbool.h>
#include <sys/types.h>

/* Are we below the guardian of a run of `name`, by process `pid`?  0: by any. */
bool around_us(const char *name, pid_t pid);

#endif
