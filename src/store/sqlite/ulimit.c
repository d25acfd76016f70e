/* ulimit.c - a limit for the size of files, setrlimit(2), must not end the program.
 *
 * Who writes past it is sent SIGXFSZ, and dies of it unless he has said otherwise.
 * Handlers are not ours to set.  But it comes to the thread that writes alone: there it
 * is blocked while we work and taken back afterwards, and what is left is an error,
 * EFBIG. */
#include "store/sqlite/ulimit.h"

#include <sys/resource.h>
#include <time.h>

static sigset_t only_signal(int signal)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, signal);
    return set;
}

bool hf_sq_ulimit_hit(void)
{
    sigset_t pending;

    return sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == 1;
}

void hf_sq_ulimit_begin(struct hf_sq_ulimit *limit)
{
    sigset_t      xfsz = only_signal(SIGXFSZ);
    struct rlimit size;

    limit->works = getrlimit(RLIMIT_FSIZE, &size) == 0 && size.rlim_cur != RLIM_INFINITY;
    if (!limit->works)
        return;
    pthread_sigmask(SIG_BLOCK, &xfsz, &limit->before);
    limit->pending = hf_sq_ulimit_hit();
}

void hf_sq_ulimit_end(const struct hf_sq_ulimit *limit)
{
    static const struct timespec none = { 0 };
    sigset_t                     xfsz = only_signal(SIGXFSZ);

    if (!limit->works)
        return;
    if (!limit->pending && hf_sq_ulimit_hit())
        sigtimedwait(&xfsz, NULL, &none);
    pthread_sigmask(SIG_SETMASK, &limit->before, NULL);
}
