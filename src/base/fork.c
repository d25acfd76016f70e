/* fork.c - see fork.h. */
#include "base/fork.h"

#include "holdfast.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t  once = PTHREAD_ONCE_INIT;
static atomic_uint     generation;
static int            *guarded;
static size_t          count, room;
static int             cancel; /* cancel state of the thread that has the mutex */
static int             takers; /* threads that use take_low() */
static unsigned        taken;  /* placeholders: a bit for each number */

/* A thread that is canceled in open() or close() would never unlock the mutex. */
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

/* ---- The low numbers ------------------------------------------------------------ */

static void take_low(void)
{
    takers++;
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) >= 0)
            continue;
        int got = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (got == fd)
            taken |= 1u << fd;
        else if (got >= 0)
            close(got); /* the program was faster */
    }
}

/* Unless the program has replaced them. */
static void free_low(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if ((taken & 1u << fd) != 0 && (fcntl(fd, F_GETFL) & O_PATH) != 0)
            close(fd);
    taken = 0;
}

static void give_low(void)
{
    if (takers > 0 && --takers == 0 && taken != 0) /* 0: forked meanwhile */
        free_low();
}

/* ---- Forking -------------------------------------------------------------------- */

static void in_child(void)
{
    free_low(); /* the threads that need them are not here */
    takers = 0;
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
    int error = errno;

    pthread_once(&once, install);
    take_guard();
    take_low();
    errno = error;
}

void hf_fork_resume(void)
{
    int error = errno;

    give_low();
    give_guard();
    errno = error;
}

void hf_low_take(void)
{
    hf_fork_pause();
    give_guard();
}

void hf_low_give(void)
{
    take_guard();
    hf_fork_resume();
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
    if (count == 0) { /* for leak checkers */
        free(guarded);
        guarded = NULL;
        room = 0;
    }
}

int hf_fork_adopt(int fd)
{
    if (fd >= 0 && hf_fork_guard(fd) < 0) {
        close(fd);
        fd = -1;
        errno = ENOMEM;
    }
    hf_fork_resume();
    return fd;
}

void hf_fork_close(int fd)
{
    take_guard();
    hf_fork_unguard(fd);
    close(fd);
    give_guard();
}
