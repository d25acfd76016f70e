/* signals.c - a write may raise SIGXFSZ or SIGPIPE: see files.h. */
#include "store/sqlite/files/files.h"

#include <sys/resource.h>
#include <time.h>

static bool is_pending(int signal)
{
    sigset_t pending;

    return sigpending(&pending) == 0 && sigismember(&pending, signal) == 1;
}

static sigset_t only_signal(int signal)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, signal);
    return set;
}

static void block_signal(struct hf_sq_blocked_signal *blocked, int signal)
{
    sigset_t set = only_signal(signal);

    blocked->signal = signal;
    pthread_sigmask(SIG_BLOCK, &set, &blocked->before);
    blocked->pending = is_pending(signal);
}

void hf_sq_block_sigpipe(struct hf_sq_blocked_signal *blocked)
{
    block_signal(blocked, SIGPIPE);
}

void hf_sq_block_sigxfsz(struct hf_sq_blocked_signal *blocked)
{
    struct rlimit size;

    blocked->signal = 0;
    if (getrlimit(RLIMIT_FSIZE, &size) == 0 && size.rlim_cur != RLIM_INFINITY)
        block_signal(blocked, SIGXFSZ);
}

bool hf_sq_size_limit_hit(void)
{
    return is_pending(SIGXFSZ);
}

void hf_sq_unblock_signal(const struct hf_sq_blocked_signal *blocked)
{
    static const struct timespec none = { 0 };

    if (blocked->signal == 0)
        return;
    sigset_t set = only_signal(blocked->signal);
    if (!blocked->pending && is_pending(blocked->signal))
        sigtimedwait(&set, NULL, &none);
    pthread_sigmask(SIG_SETMASK, &blocked->before, NULL);
}
