/* signal_fd.h - signals as events of a poll loop.
 *
 * A command must start with the signal mask and dispositions that holdfast was
 * started with.  So no handlers: signals are blocked and read from a signalfd,
 * and what was ignored (nohup, a script's background job) stays ignored.
 */
#ifndef SIGNAL_FD_H
#define SIGNAL_FD_H

#include <signal.h>
#include <stdbool.h>

struct signals {
    int      fd;           /* readable when a signal came */
    sigset_t before;       /* the mask we were started with */
    bool     chld_ignored; /* SIGCHLD was ignored; children must be waited for */
};

/* 0, or -1 and errno. */
int signals_init(struct signals *signals);

/* The next signal, or 0; never SIGCHLD: all children that have ended are reaped here,
 * also those that we did not start. */
int signals_next(const struct signals *signals);

/* In a child, before exec(): restore the mask and SIGCHLD. */
void signals_restore(const struct signals *signals);

/* Does this signal end a process that only waits? */
bool signals_ends(int signal);

/* The next signal that does, or 0.  A SIGTSTP before it stops us meanwhile. */
int signals_end(const struct signals *signals);

/* Let `signal`, SIGTSTP or such, stop this process as it would have without us.
 * Returns after it was continued; false: it was not stopped, since nobody could
 * continue it (an orphaned process group) or it is ignored. */
bool signals_stop_self(int signal);

/* Die of a signal, so that a shell sees it.  Falls back to exit(128 + n). */
_Noreturn void signals_die(int signal);

#endif
