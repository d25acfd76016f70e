/* signals.c - see signals.h. */
#include "signals.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

int signals_open(void)
{
    static const int numbers[] = { SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,
                                   SIGTSTP, SIGCONT, SIGWINCH };
    sigset_t         set;

    sigemptyset(&set);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaddset(&set, numbers[i]);
    if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
        return -1;
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

int signals_read(int fd)
{
    struct signalfd_siginfo info;

    return read(fd, &info, sizeof info) == sizeof info ? (int)info.ssi_signo : 0;
}

/* Raise the signal with its default action. */
static void raise_default(int number)
{
    sigset_t set;

    signal(number, SIG_DFL);
    sigemptyset(&set);
    sigaddset(&set, number);
    raise(number);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    sigprocmask(SIG_BLOCK, &set, NULL);
}

void signals_stop(void)
{
    raise_default(SIGTSTP);
}

void signals_die(int number)
{
    raise_default(number);
}
