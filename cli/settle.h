/* settle.h - what makes the guardians hard to end, slow down or stop; and how the command
 * gets back what holdfast had before. */
#ifndef SETTLE_H
#define SETTLE_H

#include "guard.h"

/* Both guardians, first: the terminal must not stop us, and no signal ends us. */
void settle_apart(const struct guard_plan *plan, const char *name);

/* stdin, stdout and stderr are the command's: a pipe must not stay open because of us. */
void settle_stdio(void);

/* The guardian: pressure must not slow us down, nor lack of memory end us.  What is not
 * permitted is done without. */
void settle_urgent(const struct guard_plan *plan);

/* Nothing is urgent any more. */
void settle_calm(void);

/* In the command, before exec. */
void settle_command(const struct guard_plan *plan);

#endif
