/* outer.c - the outer guardian's life; see guard.h. */
#include "guard.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

void guard_settle(const struct guard_plan *plan, const char *name)
{
    sigset_t all;

    setpgid(0, 0);
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    close(plan->signals->fd);
    prctl(PR_SET_NAME, name);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
}

/* holdfast has to know whom to end if it hangs. */
static void announce(int link, pid_t guardian)
{
    struct guard_news news;

    memset(&news, 0, sizeof news);
    news.kind = GUARD_BORN;
    news.value = (int)guardian;
    send(link, &news, sizeof news, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* It exits with 0 when all is done, or nothing was begun. */
static bool was_killed(pid_t guardian)
{
    int status = 0;

    while (waitpid(guardian, &status, 0) < 0)
        if (errno != EINTR)
            return true;
    return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

_Noreturn void outer_live(const struct guard_plan *plan, int link)
{
    pid_t self = getpid();
    int   status = 0;

    guard_settle(plan, "holdfast-outer");
    pid_t guardian = fork();
    if (guardian == 0)
        guardian_live(plan, link, self);
    if (guardian > 0)
        announce(link, guardian);
    close(link); /* holdfast must see the end of the guardian's alone */
    guard_let_go_of_stdio();
    if (guardian > 0 && was_killed(guardian))
        guard_end_tree(guardian, 0, &status, NULL);
    _exit(0);
}
