/* child.h - starts the command, as if holdfast had not been there. */
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
