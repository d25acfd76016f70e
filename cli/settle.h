/* settle.h - what makes our other processes hard to end, slow down or stop; and how the
 * command gets back what holdfast had before. */
#ifndef SETTLE_H
#define SETTLE_H

#include "guard.h"

/* First: the terminal must not stop us, and no signal ends us. */
void settle_apart(const char *name);

/* Both guardians: the tree is ours to inherit, and some descriptors are holdfast's alone. */
void settle_guardian(const struct guard_plan *plan);

/* Of stdin, stdout and stderr those from `first` to `last` are others': a pipe must not stay
 * open because of us. */
void settle_stdio(int first, int last);

/* Nor any other.  All from `first` on, which is above stderr, are closed. */
void settle_descriptors(int first);

/* The guardian: others must not slow us down, nor lack of memory end us.  What is not
 * permitted is done without. */
void settle_urgent(const struct guard_plan *plan);

/* Nor must we wait for the disk: all that we have stays in memory.  For a guardian with a
 * deadline.  One without, as in a file, where the kernel keeps the lock until all is over,
 * may be slow, and is small. */
void settle_in_memory(void);

/* Nothing is urgent any more. */
void settle_calm(void);

/* In the command, before exec. */
void settle_command(const struct guard_plan *plan);

#endif
