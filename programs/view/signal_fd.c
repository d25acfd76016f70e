/* signal_fd.c - see signal_fd.h. */
#include "signal_fd.h"

#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* Read from the signalfd.  SIGCHLD is there for children that have to be reaped. */
static const int to_read[] = { SIGINT,  SIGTERM,  SIGHUP,  SIGQUIT, SIGUSR1,
                               SIGUSR2, SIGWINCH, SIGCONT, SIGTSTP, SIGCHLD };

/* Only blocked: writing to a closed pipe, or to a file that may not grow, must not end
 * us, and using the terminal from the background must not stop us. */
static const int to_block[] = { SIGPIPE, SIGXFSZ, SIGTTIN, SIGTTOU };

static bool is_ignored(int signal)
{
    struct sigaction action;

    return sigaction(signal, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

/* Children that we had when we were executed, orphans that we adopt as process 1, and the
 * guardian, whose end shows on its socket. */
static void reap_strangers(void)
{
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
}

int signals_init(struct signals *signals)
{
    sigset_t wanted, blocked;

    /* If it is ignored, the kernel reaps our children before we can. */
    signals->chld_ignored = is_ignored(SIGCHLD);
    if (signals->chld_ignored)
        signal(SIGCHLD, SIG_DFL);

    sigemptyset(&wanted);
    for (size_t i = 0; i < sizeof to_read / sizeof *to_read; i++)
        if (!is_ignored(to_read[i])) /* a signalfd would deliver it all the same */
            sigaddset(&wanted, to_read[i]);
    blocked = wanted;
    for (size_t i = 0; i < sizeof to_block / sizeof *to_block; i++)
        sigaddset(&blocked, to_block[i]);

    if (sigprocmask(SIG_BLOCK, &blocked, &signals->before) < 0)
        return -1;
    reap_strangers(); /* there is no signal for those that ended before */
    signals->fd = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
    return signals->fd < 0 ? -1 : 0;
}

int signals_next(const struct signals *signals)
{
    struct signalfd_siginfo info;

    while (read(signals->fd, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo != SIGCHLD)
            return (int)info.ssi_signo;
        reap_strangers();
    }
    return 0;
}

void signals_restore(const struct signals *signals)
{
    if (signals->chld_ignored)
        signal(SIGCHLD, SIG_IGN);
    sigprocmask(SIG_SETMASK, &signals->before, NULL);
}

bool signals_ends(int signal)
{
    return signal == SIGINT || signal == SIGTERM || signal == SIGHUP ||
           signal == SIGQUIT || signal == SIGUSR1 || signal == SIGUSR2;
}

bool signals_stop_self(int signal)
{
    sigset_t one, before, pending;

    sigemptyset(&one);
    sigaddset(&one, signal);
    raise(signal); /* blocked; it stops us when it no longer is */
    sigprocmask(SIG_UNBLOCK, &one, &before);
    sigprocmask(SIG_SETMASK, &before, NULL);

    /* SIGCONT is blocked too: one that is pending is what continued us. */
    sigpending(&pending);
    return sigismember(&pending, SIGCONT) == 1;
}

int signals_end(const struct signals *signals)
{
    int signal;

    while ((signal = signals_next(signals)) != 0) {
        if (signals_ends(signal))
            return signal;
        if (signal == SIGTSTP)
            signals_stop_self(SIGTSTP);
    }
    return 0;
}

_Noreturn void signals_die(int signum)
{
    sigset_t one;

    signal(signum, SIG_DFL);
    sigemptyset(&one);
    sigaddset(&one, signum);
    raise(signum);
    sigprocmask(SIG_UNBLOCK, &one, NULL);
    _exit(128 + signum);
}
