/* settle.c - see settle.h. */
#include "guard/settle.h"

#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#define OOM_FILE "/proc/self/oom_score_adj"

static bool urgent;
static char oom_before[16]; /* empty: it was not changed */

void settle_apart(const char *name)
{
    sigset_t all;

    setpgid(0, 0);
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    prctl(PR_SET_NAME, name);
}

void settle_guardian(const struct guard_plan *plan)
{
    close(plan->signals->fd);
    if (plan->status_fd > 0)
        close(plan->status_fd);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
}

void settle_stdio(int first, int last)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (null < 0)
        return;
    for (int fd = first; fd <= last; fd++)
        dup3(null, fd, O_CLOEXEC);
    close(null);
}

void settle_descriptors(int first)
{
    assert(first > STDERR_FILENO);
    if (close_range((unsigned)first, ~0U, 0) == 0)
        return;
    DIR *open_ones = opendir("/proc/self/fd"); /* an old kernel, or a sandbox */
    if (open_ones == NULL)
        return;
    for (struct dirent *entry; (entry = readdir(open_ones)) != NULL;) {
        int fd = atoi(entry->d_name);
        if (fd >= first && fd != dirfd(open_ones))
            close(fd);
    }
    closedir(open_ones);
}

static bool write_oom_score(int fd, const char *score)
{
    return pwrite(fd, score, strlen(score), 0) > 0;
}

/* If memory runs out, others are killed first.  Without root's rights a process may only
 * undo what raised its score. */
static void lower_oom_score(void)
{
    char before[sizeof oom_before] = "";
    int  fd = open(OOM_FILE, O_RDWR | O_CLOEXEC);

    if (fd < 0)
        return;
    if (read(fd, before, sizeof before - 1) > 0 &&
        (write_oom_score(fd, "-1000") || (atoi(before) > 0 && write_oom_score(fd, "0"))))
        memcpy(oom_before, before, sizeof before);
    close(fd);
}

static void restore_oom_score(void)
{
    int fd = *oom_before != '\0' ? open(OOM_FILE, O_WRONLY | O_CLOEXEC) : -1;

    if (fd < 0)
        return;
    write_oom_score(fd, oom_before); /* the right to lower it is enough for this, too */
    close(fd);
}

void settle_urgent(const struct guard_plan *plan)
{
    struct sched_param param = { .sched_priority = 10 };
    bool               plain = sched_getscheduler(0) == SCHED_OTHER && plan->nice >= 0;

    lower_oom_score();
    if (plain) /* otherwise it could not be restored for the command */
        urgent = sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &param) == 0;
}

void settle_in_memory(void)
{
    static bool done;

    if (!done)
        mlockall(MCL_CURRENT);
    done = true;
}

void settle_calm(void)
{
    struct sched_param param = { 0 };

    if (urgent) /* only root can remove RESET_ON_FORK */
        sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &param);
    urgent = false;
}

void settle_command(const struct guard_plan *plan)
{
    setpriority(PRIO_PROCESS, 0, plan->nice);
    restore_oom_score();
}
