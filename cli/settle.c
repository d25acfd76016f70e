/* settle.c - see settle.h. */
#include "settle.h"

#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

void settle_apart(const struct guard_plan *plan, const char *name)
{
    sigset_t all;

    setpgid(0, 0);
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    close(plan->signals->fd);
    prctl(PR_SET_NAME, name);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
}

void settle_stdio(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (null < 0)
        return;
    for (int fd = 0; fd <= 2; fd++)
        dup3(null, fd, O_CLOEXEC);
    close(null);
}

void settle_urgent(const struct guard_plan *plan)
{
    struct sched_param param = { .sched_priority = 10 };
    bool               plain = sched_getscheduler(0) == SCHED_OTHER && plan->nice >= 0;

    mlockall(MCL_CURRENT);
    if (plain) /* else the command could not be given back what it had */
        sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &param);
}

void settle_command(const struct guard_plan *plan)
{
    setpriority(PRIO_PROCESS, 0, plan->nice);
}
