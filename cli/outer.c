/* outer.c - the outer guardian's life; see guard.h. */
#include "guard.h"

#include "link.h"
#include "settle.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

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

    settle_apart(GUARD_OUTER_NAME);
    settle_guardian(plan);
    pid_t guardian = fork();
    if (guardian == 0)
        guardian_live(plan, link, self);
    if (guardian > 0) /* holdfast has to know whom to end if it hangs */
        link_tell(link, GUARD_BORN, (int)guardian);
    close(link); /* holdfast must see the end of the guardian's alone */
    settle_stdio(STDIN_FILENO, STDERR_FILENO);
    if (guardian > 0 && was_killed(guardian))
        guard_end_tree(guardian, 0, &status, NULL);
    _exit(0);
}
