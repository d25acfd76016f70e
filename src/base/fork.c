/* fork.c - see fork.h. */
#include "base/fork.h"

#include "holdfast.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t  once = PTHREAD_ONCE_INIT;
static atomic_uint     last;      /* number that was given */
static atomic_uint     inherited; /* the generation, without install()'s page */
static atomic_uint    *generation = &inherited; /* 0: this process has yet to look */
static int            *guarded;
static size_t          count, room;
static int             cancel; /* cancel state of the thread that has the mutex */
static int             takers; /* threads that use take_low() */
static unsigned        taken;  /* placeholders: a bit for each number */

/* A thread that is canceled in open() or close() would never unlock the mutex. */
static void take_guard(void)
{
    int state;

    (void)hf_fork_generation(); /* this may be a child that ran no handler */
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

static void forget_parent(void)
{
    free_low(); /* the threads that need them are not here */
    takers = 0;
    count = 0;
}

static unsigned next_number(void)
{
    return atomic_fetch_add(&last, 1) + 1;
}

static void in_child(void)
{
    for (size_t i = 0; i < count; i++)
        close(guarded[i]);
    forget_parent();
    atomic_store(generation, next_number());
    give_guard();
}

/* _Fork() and clone() run no handler, but in their children, too, the kernel has emptied
 * this page (since Linux 4.14).  A process id would not do: it may be the parent's, in
 * another PID namespace. */
static void install(void)
{
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    void  *page =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (page != MAP_FAILED && madvise(page, size, MADV_WIPEONFORK) == 0)
        generation = page;
    else if (page != MAP_FAILED)
        munmap(page, size);
    pthread_atfork(take_guard, give_guard, in_child);
}

/* In such a child the numbers on the list may be those of other files by now, so none is
 * closed.  If a thread of the parent had the mutex, it is lost here, as malloc()'s is. */
static unsigned first_look(void)
{
    unsigned unknown = 0, number = next_number();
    bool     locked = pthread_mutex_trylock(&mutex) == 0;

    if (locked && atomic_load(generation) == 0) /* else another thread was faster */
        forget_parent();
    if (!atomic_compare_exchange_strong(generation, &unknown, number))
        number = unknown;
    if (locked)
        pthread_mutex_unlock(&mutex);
    return number;
}

unsigned hf_fork_generation(void)
{
    pthread_once(&once, install);
    unsigned known = atomic_load(generation);

    return known != 0 ? known : first_look();
}

void hf_fork_pause(void)
{
    int error = errno;

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
