/* child.c - starts the command; see guardian.h. */
#include "guard/guardian.h"

#include "guard/cgroup.h"
#include "guard/settle.h"
#include "run/nested.h"
#include "store_url.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* Every variable is set or removed: the command must not see a token of our
 * environment. */
static int set_environment(const struct guard_plan *plan, const struct guard_order *go)
{
    char token[32], slot[16];

    snprintf(token, sizeof token, "%" PRIu64, go->token);
    snprintf(slot, sizeof slot, "%d", go->slot);
    if (setenv("HOLDFAST_TOKEN", token, 1) < 0 ||
        setenv("HOLDFAST_NAME", plan->name, 1) < 0 ||
        held_add(plan->name, go->token, plan->holder) < 0 || url_hand_down(plan->url) < 0)
        return -1;
    return go->slot < 0 ? unsetenv("HOLDFAST_SLOT") : setenv("HOLDFAST_SLOT", slot, 1);
}

/* Numbers from 700 on: scripts use 3 to 9, shells keep their own from 10 on and at 255,
 * and many scripts use 200 for flock.  With a lower limit on open files, the first from
 * 10 on.  The FIFO, which comes last, gets the lowest number: the kernel closes that last
 * when a process ends, so a client that notices it finds the places free. */
static int hand_down(const struct guard_order *go)
{
    for (int i = go->lifelines - 1; i >= 0; i--) {
        int fd = fcntl(go->lifeline[i], F_DUPFD, 700);
        if (fd < 0 && (errno == EINVAL || errno == EMFILE))
            fd = fcntl(go->lifeline[i], F_DUPFD, 10);
        if (fd < 0)
            return -1;
    }
    return 0;
}

static _Noreturn void become(const struct guard_plan *plan, const struct guard_order *go,
                             pid_t guardian, int report)
{
    setpgid(0, 0);
    settle_command(plan);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != guardian) /* it died before that */
        _exit(EXIT_FAILURE);
    if ((plan->close || hand_down(go) == 0) && set_environment(plan, go) == 0) {
        signals_restore(plan->signals);
        execvp(plan->command[0], plan->command);
    }
    int     error = errno;
    ssize_t n = write(report, &error, sizeof error);
    (void)n;
    _exit(EXIT_FAILURE);
}

pid_t child_start(const struct guard_plan *plan, const struct guard_order *go, int cgroup,
                  int *report)
{
    int   ends[2];
    pid_t guardian = getpid();

    assert(plan->command[0] != NULL);
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    pid_t pid = cgroup_fork(cgroup);
    if (pid == 0)
        become(plan, go, guardian, ends[1]);
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return -1;
    }
    setpgid(pid, pid); /* parent and child both do it: one of them comes first */
    *report = ends[0];
    return pid;
}
