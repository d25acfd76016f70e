/* ulimit.c - see ulimit.h. */
#include "store/sqlite/ulimit.h"

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

static void mute_signal(struct hf_sq_mute *mute, int signal)
{
    sigset_t set = only_signal(signal);

    mute->signal = signal;
    pthread_sigmask(SIG_BLOCK, &set, &mute->before);
    mute->pending = is_pending(signal);
}

void hf_sq_mute_pipe(struct hf_sq_mute *mute)
{
    mute_signal(mute, SIGPIPE);
}

void hf_sq_mute_ulimit(struct hf_sq_mute *mute)
{
    struct rlimit size;

    mute->signal = 0;
    if (getrlimit(RLIMIT_FSIZE, &size) == 0 && size.rlim_cur != RLIM_INFINITY)
        mute_signal(mute, SIGXFSZ);
}

bool hf_sq_ulimit_hit(void)
{
    return is_pending(SIGXFSZ);
}

void hf_sq_unmute(const struct hf_sq_mute *mute)
{
    static const struct timespec none = { 0 };

    if (mute->signal == 0)
        return;
    sigset_t set = only_signal(mute->signal);
    if (!mute->pending && is_pending(mute->signal))
        sigtimedwait(&set, NULL, &none);
    pthread_sigmask(SIG_SETMASK, &mute->before, NULL);
}
