/* spawn.c - see spawn.h.
 *
 * Code that runs in our memory but in another process only makes system calls: it calls
 * no function of the C library that might use thread-local data or take a lock.  Nor
 * may a sanitizer take its actions for those of this thread.
 */
#include "base/spawn.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define STACK ((size_t)16 * 1024) /* of each of the two processes */

#if defined(__clang__)
#define UNSEEN __attribute__((disable_sanitizer_instrumentation))
#else
#define UNSEEN __attribute__((no_sanitize("address", "thread", "undefined")))
#endif

/* clone() by its internal name, which ThreadSanitizer does not intercept: its own
 * clone() cannot handle a child in the same memory. */
#if defined(__GLIBC__)
int clone_unseen(int (*body)(void *), void *stack, int flags, void *arg,
                 ...) __asm__("__clone");
#else
#define clone_unseen clone
#endif

struct plan {
    const char  *path;
    char *const *argv;
    char *const *environment;
    int          fd;
    char        *stack; /* where that of the program's process begins */
    int          pidfd; /* out */
    int          error; /* out */
};

/* There may be no free descriptor left, and any of 0 to 2 may be closed, or be `fd`. */
UNSEEN static bool set_stdio(int fd)
{
    long from = fd > 2 ? fd : syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 3);

    if (from < 0 || syscall(SYS_dup3, from, 0, 0) < 0)
        return false;
    syscall(SYS_close, 1);
    return syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR) == 1 &&
           syscall(SYS_dup3, 1, 2, 0) == 2;
}

/* By SIGKILL: valgrind and the like intercept an exit, and would clean up the memory of
 * the parent. */
UNSEEN static int end_here(void)
{
    syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
    return 1;
}

UNSEEN static int become_program(void *arg)
{
    struct plan *plan = arg;

    syscall(SYS_setsid);
    if (set_stdio(plan->fd))
        syscall(SYS_execve, plan->path, plan->argv, plan->environment);
    plan->error = errno;
    return end_here();
}

UNSEEN static int start_and_end(void *arg)
{
    struct plan *plan = arg;

    int pid = clone_unseen(become_program, plan->stack,
                           CLONE_VM | CLONE_VFORK | CLONE_PIDFD, plan, &plan->pidfd);
    if (pid < 0)
        plan->error = errno;
    else if (plan->error != 0) /* it is dead: reap it */
        syscall(SYS_wait4, pid, NULL, __WALL, NULL);
    return end_here();
}

static void start(struct plan *plan, char *stack)
{
    sigset_t all, before;
    int      cancel;

    /* No signal handler may run there, and this thread must not be canceled before they
     * end. */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    plan->stack = stack + STACK;
    pid_t pid = clone_unseen(start_and_end, stack + 2 * STACK,
                             CLONE_VM | CLONE_VFORK | CLONE_FILES, plan);
    if (pid < 0)
        plan->error = errno;
    else
        while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
            continue;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_setcancelstate(cancel, &cancel);
}

int hf_spawn_apart(const char *path, char *const *argv, char *const *environment, int fd,
                   int *pidfd)
{
    struct plan plan = {
        .path = path, .argv = argv, .environment = environment, .fd = fd, .pidfd = -1
    };

    assert(path[0] == '/' && argv[0] != NULL && fd >= 0);
    char *stack = mmap(NULL, 2 * STACK, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED)
        return errno;
    start(&plan, stack);
    munmap(stack, 2 * STACK);
    if (plan.error == 0)
        *pidfd = plan.pidfd;
    else if (plan.pidfd >= 0)
        close(plan.pidfd);
    return plan.error;
}
