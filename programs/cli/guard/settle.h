/* settle.h - prepares our other processes, so that they are hard to kill, slow down or
 * stop; and restores for the command what holdfast had before. */
#ifndef SETTLE_H
#define SETTLE_H

#include "guard/guard.h"

/* Call this first: the terminal must not stop us, and no signal but SIGKILL end us. */
void settle_apart(const char *name);

/* For the guardian of `run`, and the outer one: inherit the orphans of the tree, and
 * close the descriptors that only holdfast needs. */
void settle_guardian(const struct guard_plan *plan);

/* Replace stdin, stdout and stderr, from `first` to `last`, by /dev/null: a pipe must not
 * stay open because of us. */
void settle_stdio(int first, int last);

/* Close all other descriptors, from `first` on, which is above stderr. */
void settle_descriptors(int first);

/* For the guardian: a higher priority, and a lower score for the OOM killer, as far as
 * that is permitted. */
void settle_urgent(const struct guard_plan *plan);

/* Lock our memory, so that we never wait for the disk: for a guardian with a deadline.
 * In a file there is none: the kernel keeps the lock until all is over, and a guardian
 * may be slow. */
void settle_in_memory(void);

/* Back to the usual priority. */
void settle_calm(void);

/* In the command, before exec(): restore what it had. */
void settle_command(const struct guard_plan *plan);

#endif
