/* also_flock.c - see also_flock.h. */
#include "run/also_flock.h"

#include "complain.h"
#include "guard/settle.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* In ps(1): somebody may ask who waits for the file. */
#define HELPER_NAME "hf-flock"

static struct {
    int   fd;     /* the open file; -1: none is wanted */
    int   kind;   /* LOCK_EX, or LOCK_SH with -s */
    pid_t helper; /* 0: none waits */
    int   ended;  /* a pipe that closes when the helper ends */
} also = { .fd = -1, .ended = -1 };

/* For writing if possible: NFS locks a file for itself alone only then.  O_CREAT is
 * refused for a directory and, in /tmp, for the file of another user. */
static int open_file(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_NOCTTY | O_CLOEXEC, 0666);

    if (fd >= 0)
        return fd;
    int error = errno;
    fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    errno = error;
    return fd;
}

int also_flock_open(const struct args *args)
{
    if (args->also_flock == NULL)
        return 0;
    also.kind = args->shared ? LOCK_SH : LOCK_EX;
    also.fd = open_file(args->also_flock);
    if (also.fd < 0) {
        complain("--also-flock %s: cannot open or create this file: %s", args->also_flock,
                 strerror(errno));
        return EXIT_USAGE;
    }
    return 0;
}

int also_flock_fd(void)
{
    return also.fd;
}

/* ---- The helper ---------------------------------------------------------------- */

/* It keeps nothing else open: the store must see the end of holdfast, not of this. */
static _Noreturn void wait_for_lock(pid_t holdfast, int pipe)
{
    settle_apart(HELPER_NAME);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != holdfast || dup2(also.fd, STDIN_FILENO) < 0 ||
        dup2(pipe, STDOUT_FILENO) < 0 || dup2(pipe, STDERR_FILENO) < 0)
        _exit(1);
    settle_descriptors(STDERR_FILENO + 1);
    _exit(flock(STDIN_FILENO, also.kind) < 0);
}

static int start_helper(void)
{
    int   ends[2];
    pid_t self = getpid();

    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    pid_t pid = fork();
    if (pid == 0)
        wait_for_lock(self, ends[1]);
    int error = errno;
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        errno = error;
        return -1;
    }
    also.helper = pid;
    also.ended = ends[0];
    return 0;
}

static bool helper_waits(void)
{
    struct pollfd ended = { .fd = also.ended };

    return also.helper != 0 && poll(&ended, 1, 0) == 0;
}

/* signals_next() may have reaped it, but only after its end of the pipe was closed: one
 * that still waits has its pid. */
static void end_helper(void)
{
    if (helper_waits())
        kill(also.helper, SIGKILL);
    while (also.helper != 0 && waitpid(also.helper, NULL, 0) < 0 && errno == EINTR)
        ;
    if (also.ended >= 0)
        close(also.ended);
    also.helper = 0;
    also.ended = -1;
}

/* ---- The lock -------------------------------------------------------------------- */

/* A helper that has ended got the lock, was killed, or failed: trying it ourselves tells
 * which, since a second lock on the same open file changes nothing. */
int also_flock_take(bool wait)
{
    if (also.fd < 0)
        return 0;
    if (helper_waits())
        return HF_EBUSY;
    end_helper();
    if (flock(also.fd, also.kind | LOCK_NB) == 0)
        return 0;
    if (errno != EWOULDBLOCK)
        return HF_ESTORE;
    return !wait || start_helper() == 0 ? HF_EBUSY : HF_ESTORE;
}

struct pollfd also_flock_poll(void)
{
    return (struct pollfd){ .fd = also.ended, .events = POLLIN };
}

void also_flock_release(void)
{
    if (also.fd < 0)
        return;
    end_helper();
    flock(also.fd, LOCK_UN); /* whoever else has this open file: the guardian may */
}
