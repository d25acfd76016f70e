/* terminal.c - see terminal.h.  SIGTTOU must be blocked: we set the terminal's
 * foreground group from the background. */
#include "run/terminal.h"

#include <fcntl.h>
#include <unistd.h>

bool terminal_lend(struct terminal *terminal, pid_t group)
{
    if (terminal->fd < 0)
        terminal->fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
    if (terminal->fd < 0 || tcgetpgrp(terminal->fd) != getpgrp())
        return false;
    if (!terminal->wanted && tcgetattr(terminal->fd, &terminal->before) < 0)
        return false;
    if (tcsetpgrp(terminal->fd, group) < 0)
        return false;
    terminal->wanted = true;
    terminal->lent = true;
    return true;
}

void terminal_take_back(struct terminal *terminal, bool reset)
{
    if (!terminal->lent)
        return;
    terminal->lent = false;
    tcsetpgrp(terminal->fd, getpgrp());
    if (reset)
        tcsetattr(terminal->fd, TCSADRAIN, &terminal->before);
}

void terminal_finish(struct terminal *terminal)
{
    if (terminal->fd >= 0)
        close(terminal->fd);
    *terminal = (struct terminal)TERMINAL_INIT;
}
