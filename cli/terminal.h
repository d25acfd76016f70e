/* terminal.h - lends the terminal to the command, when it asks for it.
 *
 * The command has a process group of its own, in the background, so that a
 * pipeline around us (`holdfast run x -- make | less`) keeps the terminal.  One
 * that reads from the terminal or sets it up is stopped by the kernel; then we
 * lend it ours and let it go on, so that editors and shells work too.
 */
#ifndef TERMINAL_H
#define TERMINAL_H

#include <stdbool.h>
#include <sys/types.h>
#include <termios.h>

struct terminal {
    int            fd;     /* -1: not opened yet */
    bool           wanted; /* the command asked for it once */
    bool           lent;   /* it has it now */
    struct termios before; /* as it was when first lent */
};

#define TERMINAL_INIT \
    {                 \
        .fd = -1      \
    }

/* Lend it to a process group.  False: we do not have it. */
bool terminal_lend(struct terminal *terminal, pid_t group);

/* Take it back, if it was lent.  `reset`: the borrower had no chance to tidy
 * up, so set it as it was. */
void terminal_take_back(struct terminal *terminal, bool reset);

/* Afterwards it can be used again as new. */
void terminal_finish(struct terminal *terminal);

#endif
