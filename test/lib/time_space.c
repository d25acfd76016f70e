/* time_space.c - see time_space.h. */
#include "lib/time_space.h"

#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define REFUSED 101

static bool set_offset(void)
{
    const char offset[] = "boottime 1000 0\n";
    ssize_t    size = (ssize_t)strlen(offset);
    int        fd = open("/proc/self/timens_offsets", O_WRONLY | O_CLOEXEC);
    bool       set = fd >= 0 && write(fd, offset, (size_t)size) == size;

    if (fd >= 0)
        close(fd);
    return set;
}

static int wait_for(pid_t pid)
{
    int status;

    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
        return REFUSED - 1;
    return WEXITSTATUS(status);
}

/* unshare() changes the time of children alone. */
static int run_ahead(int (*body)(void))
{
    if (unshare(CLONE_NEWTIME) < 0 || !set_offset())
        return REFUSED;
    pid_t pid = fork();
    if (pid == 0)
        _exit(body());
    return wait_for(pid);
}

int time_space_run(int (*body)(void))
{
    pid_t pid = fork(); /* what it changes ends with that process */
    if (pid == 0)
        _exit(run_ahead(body));
    int r = wait_for(pid);
    return r == REFUSED ? -1 : r;
}
