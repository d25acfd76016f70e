/* tree_end.c - ends all below this process; see tree.h. */
#include "tree.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* False once there is nobody left to wait for. */
static bool reap_all(pid_t child, int *status)
{
    pid_t pid;
    int   s;

    while ((pid = waitpid(-1, &s, WNOHANG)) > 0)
        if (pid == child)
            *status = s;
    return pid == 0;
}

void tree_end(pid_t child, int *status, const struct tree_stuck *stuck)
{
    sigset_t        chld;
    struct timespec patience = { .tv_nsec = 1000000 };
    int64_t         tell_at = clock_boot_ns() + TREE_STUCK_NS;
    bool            busy = stuck != NULL && stuck->meanwhile != NULL;
    long            longest = TREE_MEANWHILE_NS;

    sigemptyset(&chld);
    sigaddset(&chld, SIGCHLD);
    while (reap_all(child, status)) {
        tree_signal(getpid(), SIGKILL);
        if (clock_boot_ns() >= tell_at) {
            tell_at = INT64_MAX;
            longest = busy ? longest : 512000000;
            if (stuck != NULL)
                stuck->tell(stuck->data);
        }
        if (busy)
            stuck->meanwhile(stuck->data);
        /* One that is dying in the kernel may take its time: ask less often,
         * but go on asking, since it may have forked while we looked. */
        if (sigtimedwait(&chld, NULL, &patience) < 0 && errno == EAGAIN &&
            patience.tv_nsec < longest)
            patience.tv_nsec *= 2;
    }
}
