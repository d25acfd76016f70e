/* terminal.h - lends the terminal to the command, when it needs it.
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
    bool           wanted; /* the command has needed it */
    bool           lent;   /* it has it now */
    struct termios before; /* its settings when it was first lent */
};

#define TERMINAL_INIT \
    {                 \
        .fd = -1      \
    }

/* Lend it to a process group.  False: we do not have it. */
bool terminal_lend(struct terminal *terminal, pid_t group);

/* Take it back, if it was lent.  `reset`: restore its settings, since the command could
 * not. */
void terminal_take_back(struct terminal *terminal, bool reset);

/* Afterwards it is as new. */
void terminal_finish(struct terminal *terminal);

#endif
