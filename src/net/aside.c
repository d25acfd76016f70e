/* aside.c - see aside.h.
 *
 * A call belongs to two: its owner, and its thread, which nothing can hurry.  The last
 * of the two frees it.  Each closes its own end of a pipe.  So an abandoned call leaves
 * every poll set at once, and the thread can write to nothing but its own end.
 */
#include "net/aside.h"

#include "base/fork.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#define STACK (256 * 1024) /* name service modules need more than the minimum */

struct hf_aside {
    const struct hf_aside_work *work;
    void                       *data;
    atomic_int                  users;
    atomic_bool                 done;
    int                         fd;    /* the owner's end */
    int                         mouth; /* the thread's end */
    unsigned generation;               /* in a forked child both are closed already */
};

static void leave(struct hf_aside *aside)
{
    if (atomic_fetch_sub(&aside->users, 1) > 1)
        return;
    aside->work->drop(aside->data);
    free(aside);
}

static void *run(void *data)
{
    struct hf_aside *aside = data;
    ssize_t          n;

    pthread_setname_np(pthread_self(), aside->work->name);
    hf_low_take(); /* look-ups open sockets; so does libpq when it cancels */
    aside->work->run(aside->data);
    hf_low_give();
    atomic_store(&aside->done, true);
    n = write(aside->mouth, "", 1); /* fails if the owner has abandoned it */
    (void)n;
    hf_fork_close(aside->mouth);
    leave(aside);
    return NULL;
}

/* Create a thread that gets none of the program's signals, SIGPIPE included. */
static int start_thread(struct hf_aside *aside)
{
    pthread_attr_t attributes;
    pthread_t      thread;
    sigset_t       all, before;
    int            r = pthread_attr_init(&attributes);

    if (r != 0)
        return r;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, STACK);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    r = pthread_create(&thread, &attributes, run, aside);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return r;
}

/* 0 or an errno. */
static int make_pipe(int fds[2])
{
    hf_fork_pause();
    int  r = pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0 ? errno : 0;
    bool guarded = r == 0 && hf_fork_guard(fds[0]) == 0 && hf_fork_guard(fds[1]) == 0;
    hf_fork_resume();
    if (r != 0 || guarded)
        return r;
    hf_fork_close(fds[0]);
    hf_fork_close(fds[1]);
    return ENOMEM;
}

int hf_aside_new(const struct hf_aside_work *work, void *data, struct hf_aside **ret)
{
    struct hf_aside *aside = malloc(sizeof *aside);
    int              fds[2], r;

    if (aside == NULL)
        return ENOMEM;
    r = make_pipe(fds);
    if (r != 0)
        goto no_pipe;
    *aside = (struct hf_aside){ .work = work,
                                .data = data,
                                .users = 2,
                                .fd = fds[0],
                                .mouth = fds[1],
                                .generation = hf_fork_generation() };
    r = start_thread(aside);
    if (r != 0)
        goto no_thread;
    *ret = aside;
    return 0;
no_thread:
    hf_fork_close(fds[0]);
    hf_fork_close(fds[1]);
no_pipe:
    free(aside);
    return r;
}

int hf_aside_fd(const struct hf_aside *aside)
{
    return aside->fd;
}

bool hf_aside_done(const struct hf_aside *aside)
{
    return atomic_load(&aside->done);
}

void hf_aside_free(struct hf_aside *aside)
{
    if (aside == NULL)
        return;
    if (aside->generation == hf_fork_generation())
        hf_fork_close(aside->fd);
    leave(aside);
}
