/* fork.c - see fork.h. */
#include "base/fork.h"

#include "holdfast.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t  once = PTHREAD_ONCE_INIT;
static atomic_uint     generation;
static int            *guarded;
static size_t          count, room;
static int             cancel; /* state that the thread with the mutex had before */

/* A thread that is canceled in open() or close() would take the mutex with it. */
static void take_guard(void)
{
    int state;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    pthread_mutex_lock(&mutex);
    cancel = state;
}

static void give_guard(void)
{
    int state = cancel;

    pthread_mutex_unlock(&mutex);
    pthread_setcancelstate(state, NULL);
}

static void in_child(void)
{
    for (size_t i = 0; i < count; i++)
        close(guarded[i]);
    count = 0;
    atomic_fetch_add(&generation, 1);
    give_guard();
}

static void install(void)
{
    pthread_atfork(take_guard, give_guard, in_child);
}

unsigned hf_fork_generation(void)
{
    pthread_once(&once, install);
    return atomic_load(&generation);
}

void hf_fork_pause(void)
{
    pthread_once(&once, install);
    take_guard();
}

void hf_fork_resume(void)
{
    give_guard();
}

int hf_fork_guard(int fd)
{
    assert(fd >= 0);
    if (count == room) {
        size_t more = room ? room * 2 : 16;
        int   *grown = realloc(guarded, more * sizeof *grown);
        if (grown == NULL)
            return HF_ENOMEM;
        guarded = grown;
        room = more;
    }
    guarded[count++] = fd;
    return 0;
}

void hf_fork_unguard(int fd)
{
    for (size_t i = 0; i < count; i++) {
        if (guarded[i] == fd) {
            guarded[i] = guarded[--count];
            break;
        }
    }
    if (count == 0) { /* leave nothing behind for leak checkers */
        free(guarded);
        guarded = NULL;
        room = 0;
    }
}

int hf_fork_adopt(int fd)
{
    int error = errno;

    if (fd >= 0 && hf_fork_guard(fd) < 0) {
        close(fd);
        fd = -1;
        error = ENOMEM;
    }
    hf_fork_resume();
    errno = error;
    return fd;
}

void hf_fork_close(int fd)
{
    hf_fork_pause();
    hf_fork_unguard(fd);
    close(fd);
    hf_fork_resume();
}
