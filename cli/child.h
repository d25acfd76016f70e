/* child.h - starts the command, as if holdfast had not been there.
 *
 * But for one thing: it inherits the session's lifeline, if there is one.  So if holdfast
 * and the guardian are killed at once, processes that the command started keep the lock
 * until the last of them is gone, as under flock(1); -o closes it, as flock's -o does.
 * Those that --leftovers leave lets go must not keep the lock: they inherit nothing.
 */
#ifndef CHILD_H
#define CHILD_H

#include "guard.h"

/* Fork and execute the command in a process group of its own, in the control
 * group `cgroup` unless that is -1.  Returns its pid, or -1 and errno.
 * *report becomes readable when it is known how the exec went: end of file for
 * well, or an int, the errno. */
pid_t child_start(const struct guard_plan *plan, const struct guard_order *go, int cgroup,
                  int *report);

#endif
