/* text_signal.c - the names of signals. */
#include "text.h"

#include <signal.h>
#include <stdio.h>
#include <strings.h>

static const struct {
    int         number;
    const char *name;
} names[] = {
    { SIGHUP, "HUP" },   { SIGINT, "INT" },   { SIGQUIT, "QUIT" }, { SIGABRT, "ABRT" },
    { SIGKILL, "KILL" }, { SIGUSR1, "USR1" }, { SIGUSR2, "USR2" }, { SIGPIPE, "PIPE" },
    { SIGALRM, "ALRM" }, { SIGTERM, "TERM" }, { SIGCONT, "CONT" }, { SIGSTOP, "STOP" },
    { SIGTSTP, "TSTP" }, { SIGTTIN, "TTIN" }, { SIGTTOU, "TTOU" }, { SIGWINCH, "WINCH" },
};

#define NAMES (sizeof names / sizeof *names)

int text_parse_signal(const char *text)
{
    const char *bare = strncasecmp(text, "SIG", 3) == 0 ? text + 3 : text;
    uint64_t    number;

    for (size_t i = 0; i < NAMES; i++)
        if (strcasecmp(bare, names[i].name) == 0)
            return names[i].number;
    if (text_parse_number(text, 1, (uint64_t)SIGRTMAX, &number))
        return (int)number;
    return -1;
}

const char *text_signal(int signal)
{
    static char number[16];

    for (size_t i = 0; i < NAMES; i++)
        if (signal == names[i].number)
            return names[i].name;
    snprintf(number, sizeof number, "%d", signal);
    return number;
}
