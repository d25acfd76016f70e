/* resolve.c - see resolve.h.
 *
 * The look-up belongs to two: its owner, and the thread that runs getaddrinfo(3),
 * which nothing can hurry.  Whoever is last frees it.  Each has an end of a pipe of
 * its own to close, so that an abandoned look-up takes its descriptor out of every
 * poll set at once, and the thread can write to nothing but its own end.
 */
#include "net/resolve.h"

#include "base/fork.h"
#include "holdfast.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STACK (256 * 1024) /* modules of the name service need more than the least */

struct hf_resolve {
    atomic_int        users;
    atomic_bool       done; /* what follows is written before it, read after it */
    struct hf_address address[HF_RESOLVE_MAX];
    int               count;
    char              error[200];

    int      fd;         /* the owner's end; -1: done at once */
    int      mouth;      /* the thread's */
    unsigned generation; /* in a forked child both are closed already */
    char    *host, *port;
};

/* ---- The look-up itself ------------------------------------------------------------ */

static void complain(struct hf_resolve *resolve, const char *why)
{
    snprintf(resolve->error, sizeof resolve->error, "cannot find host \"%.100s\": %s",
             resolve->host, why);
}

/* 0 or as getaddrinfo() tells it. */
static int look_up(struct hf_resolve *resolve, int flags)
{
    const struct addrinfo hints = { .ai_flags = flags | AI_NUMERICSERV,
                                    .ai_socktype = SOCK_STREAM };
    struct addrinfo      *found = NULL;
    int                   r = getaddrinfo(resolve->host, resolve->port, &hints, &found);

    if (r != 0) {
        complain(resolve, r == EAI_SYSTEM ? strerror(errno) : gai_strerror(r));
        return r;
    }
    for (struct addrinfo *info = found; info != NULL; info = info->ai_next) {
        struct hf_address *address = &resolve->address[resolve->count];

        if (resolve->count == HF_RESOLVE_MAX || info->ai_addrlen > sizeof address->at)
            continue;
        memcpy(&address->at, info->ai_addr, info->ai_addrlen);
        address->length = info->ai_addrlen;
        resolve->count++;
    }
    freeaddrinfo(found);
    resolve->error[0] = '\0';
    return 0;
}

/* ---- Its two users ----------------------------------------------------------------- */

static void shut(int fd)
{
    hf_fork_unguard(fd);
    close(fd);
}

static void leave(struct hf_resolve *resolve)
{
    if (atomic_fetch_sub(&resolve->users, 1) > 1)
        return;
    free(resolve->host);
    free(resolve->port);
    free(resolve);
}

static void *run(void *data)
{
    struct hf_resolve *resolve = data;
    ssize_t            n;

    pthread_setname_np(pthread_self(), "holdfast-lookup");
    look_up(resolve, 0);
    atomic_store(&resolve->done, true);
    n = write(resolve->mouth, "", 1); /* fails if nobody listens any more */
    (void)n;
    shut(resolve->mouth);
    leave(resolve);
    return NULL;
}

/* A thread that no signal of the program's is delivered to; SIGPIPE included. */
static int start_thread(struct hf_resolve *resolve)
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
    r = pthread_create(&thread, &attributes, run, resolve);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return r;
}

/* 0 or an errno. */
static int start(struct hf_resolve *resolve)
{
    int fds[2], r;

    if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
        return errno;
    resolve->fd = fds[0];
    resolve->mouth = fds[1];
    atomic_store(&resolve->users, 2);
    if (hf_fork_guard(fds[0]) < 0 || hf_fork_guard(fds[1]) < 0)
        r = ENOMEM;
    else
        r = start_thread(resolve);
    if (r == 0)
        return 0;
    atomic_store(&resolve->users, 1);
    shut(fds[0]);
    shut(fds[1]);
    resolve->fd = -1;
    return r;
}

int hf_resolve_new(const char *host, const char *port, struct hf_resolve **ret)
{
    struct hf_resolve *resolve = calloc(1, sizeof *resolve);
    int                r;

    if (resolve == NULL)
        return HF_ENOMEM;
    resolve->fd = -1;
    resolve->generation = hf_fork_generation();
    resolve->host = strdup(host);
    resolve->port = strdup(port);
    atomic_store(&resolve->users, 1);
    if (resolve->host == NULL || resolve->port == NULL) {
        leave(resolve);
        return HF_ENOMEM;
    }
    if (look_up(resolve, AI_NUMERICHOST) != EAI_NONAME) {
        atomic_store(&resolve->done, true);
    } else if ((r = start(resolve)) != 0) {
        complain(resolve, strerror(r));
        atomic_store(&resolve->done, true);
    }
    *ret = resolve;
    return 0;
}

int hf_resolve_fd(const struct hf_resolve *resolve)
{
    return resolve->fd;
}

int hf_resolve_get(struct hf_resolve *resolve, struct hf_address *ret, int max)
{
    int count;

    assert(max > 0);
    if (!atomic_load(&resolve->done))
        return 0;
    if (resolve->count == 0)
        return HF_EDOWN;
    count = resolve->count < max ? resolve->count : max;
    memcpy(ret, resolve->address, (size_t)count * sizeof *ret);
    return count;
}

const char *hf_resolve_error(const struct hf_resolve *resolve)
{
    return atomic_load(&resolve->done) ? resolve->error : "";
}

void hf_resolve_free(struct hf_resolve *resolve)
{
    if (resolve == NULL)
        return;
    if (resolve->fd >= 0 && resolve->generation == hf_fork_generation())
        shut(resolve->fd);
    leave(resolve);
}

bool hf_address_is_local(const struct sockaddr_storage *at)
{
    const struct in6_addr *v6 = &((const struct sockaddr_in6 *)at)->sin6_addr;

    switch (at->ss_family) {
    case AF_UNIX:
        return true;
    case AF_INET:
        return ntohl(((const struct sockaddr_in *)at)->sin_addr.s_addr) >> 24 == 127;
    case AF_INET6:
        return IN6_IS_ADDR_LOOPBACK(v6) ||
               (IN6_IS_ADDR_V4MAPPED(v6) && v6->s6_addr[12] == 127);
    default:
        return false;
    }
}
