/* tcpproxy.c - see tcpproxy.h. */
#include "lib/tcpproxy.h"

#include "base/clock.h"
#include "lib/local_port.h"

#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define LINKS_MAX 64
#define KEPT      31 /* of the last bytes: the word may come in pieces */

enum { UP, DOWN }; /* a direction; also the end that sends in it */

struct link {
    int  fd[2]; /* of the client, of the server; -1: unused */
    bool marked, dead, stranded;
    char tail[KEPT + 1];
};

struct tcpproxy {
    pthread_t          thread;
    pthread_mutex_t    mutex;
    int                wake;
    struct local_port  port;
    bool               ending;
    struct sockaddr_in target;
    char               word[KEPT + 1];
    struct link        link[LINKS_MAX];

    bool     armed, struck;
    int      cut_way;
    unsigned cut_which;
    uint64_t left;
    unsigned held[2], swallowed[2]; /* enum tcpproxy_which, by direction */
    uint64_t bytes[2][4];           /* by direction and enum tcpproxy_which */
    uint64_t connections;
};

static unsigned kind(const struct link *link)
{
    return link->marked ? TCPPROXY_MARKED : TCPPROXY_PLAIN;
}

/* ---- Connections --------------------------------------------------------------- */

static void set_up(int fd)
{
    /* A frozen server must not block this thread. */
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &(struct timeval){ .tv_sec = 1 },
               sizeof(struct timeval));
}

static void accept_one(struct tcpproxy *proxy)
{
    int          client = local_port_accept(&proxy->port);
    struct link *link = proxy->link;

    if (client < 0)
        return;
    proxy->connections++;
    int server = local_port_reach(&proxy->target);
    if (server < 0) {
        close(client);
        return;
    }
    while (link->fd[UP] >= 0)
        link++;
    assert(link < proxy->link + LINKS_MAX);
    *link = (struct link){ .fd = { client, server } };
    set_up(client);
    set_up(server);
}

/* ---- Passing on ---------------------------------------------------------------- */

static void mark(struct tcpproxy *proxy, struct link *link, const char *data, size_t size)
{
    size_t length = strlen(proxy->word);

    for (size_t i = 0; i < size && length > 0 && !link->marked; i++) {
        memmove(link->tail, link->tail + 1, KEPT - 1);
        link->tail[KEPT - 1] = data[i];
        link->marked = strncasecmp(link->tail + KEPT - length, proxy->word, length) == 0;
    }
}

static bool is_held(const struct tcpproxy *proxy, const struct link *link, int way)
{
    return (proxy->held[way] & kind(link)) != 0 || (way == UP && link->stranded);
}

static bool is_cut_here(const struct tcpproxy *proxy, const struct link *link, int way)
{
    return proxy->armed && proxy->cut_way == way && (proxy->cut_which & kind(link));
}

static void strike(struct tcpproxy *proxy, struct link *link)
{
    proxy->armed = false;
    proxy->struck = true;
    link->dead = true;
}

/* Pass on up to the byte of the cut. */
static void pass(struct tcpproxy *proxy, struct link *link, int way)
{
    char   data[16384];
    size_t room = sizeof data;

    if (is_cut_here(proxy, link, way) && proxy->left < room)
        room = proxy->left;
    if (room == 0) {
        strike(proxy, link);
        return;
    }
    ssize_t n = recv(link->fd[way], data, room, MSG_DONTWAIT);
    if (n <= 0) {
        link->dead = true;
        return;
    }
    bool here = is_cut_here(proxy, link, way);
    if (!(proxy->swallowed[way] & kind(link))) {
        proxy->bytes[way][kind(link)] += (uint64_t)n;
        link->dead = send(link->fd[!way], data, (size_t)n, MSG_NOSIGNAL) != n;
    }
    if (way == UP)
        mark(proxy, link, data, (size_t)n);
    if (here && (proxy->left -= (uint64_t)n) == 0)
        strike(proxy, link);
}

/* Without a reset if possible, so that the bytes before arrive. */
static void sweep(struct tcpproxy *proxy, bool all)
{
    for (struct link *link = proxy->link; link < proxy->link + LINKS_MAX; link++) {
        if (link->fd[UP] < 0 || !(link->dead || all))
            continue;
        close(link->fd[UP]);
        close(link->fd[DOWN]);
        link->fd[UP] = link->fd[DOWN] = -1;
    }
}

/* ---- The thread ---------------------------------------------------------------- */

static void prepare(struct tcpproxy *proxy, struct pollfd *ends)
{
    *ends++ = (struct pollfd){ .fd = proxy->wake, .events = POLLIN };
    *ends++ = (struct pollfd){ .fd = proxy->port.listener, .events = POLLIN };
    for (struct link *link = proxy->link; link < proxy->link + LINKS_MAX; link++) {
        for (int way = UP; way <= DOWN; way++) {
            bool held = is_held(proxy, link, way);
            *ends++ =
                (struct pollfd){ .fd = held ? -1 : link->fd[way], .events = POLLIN };
        }
    }
}

static void process(struct tcpproxy *proxy, const struct pollfd *ends)
{
    uint64_t unused;
    bool     comes = ends[1].revents != 0 && proxy->port.listener >= 0;

    if (ends[0].revents != 0)
        (void)!read(proxy->wake, &unused, sizeof unused);
    ends += 2;
    for (struct link *link = proxy->link; link < proxy->link + LINKS_MAX; link++) {
        for (int way = UP; way <= DOWN; way++, ends++) {
            if (ends->revents != 0 && link->fd[way] >= 0 && !link->dead &&
                !is_held(proxy, link, way)) /* since we looked */
                pass(proxy, link, way);
        }
    }
    sweep(proxy, false);
    if (comes)
        accept_one(proxy);
}

static void *run(void *data)
{
    struct tcpproxy *proxy = data;
    struct pollfd    ends[2 + 2 * LINKS_MAX];

    pthread_mutex_lock(&proxy->mutex);
    while (!proxy->ending) {
        prepare(proxy, ends);
        pthread_mutex_unlock(&proxy->mutex);
        int r = poll(ends, sizeof ends / sizeof *ends, -1);
        pthread_mutex_lock(&proxy->mutex);
        if (r > 0)
            process(proxy, ends);
    }
    sweep(proxy, true);
    pthread_mutex_unlock(&proxy->mutex);
    return NULL;
}

/* ---- The calls ----------------------------------------------------------------- */

struct tcpproxy *tcpproxy_start(const char *target, const char *word)
{
    struct tcpproxy *proxy = calloc(1, sizeof *proxy);

    assert(proxy != NULL);
    proxy->target = local_port_parse(target);
    snprintf(proxy->word, sizeof proxy->word, "%s", word != NULL ? word : "");
    for (size_t i = 0; i < LINKS_MAX; i++)
        proxy->link[i].fd[UP] = proxy->link[i].fd[DOWN] = -1;
    pthread_mutex_init(&proxy->mutex, NULL);
    proxy->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    assert(proxy->wake >= 0);
    local_port_open(&proxy->port);
    int r = pthread_create(&proxy->thread, NULL, run, proxy);
    assert(r == 0);
    return proxy;
}

static void lock(struct tcpproxy *proxy)
{
    pthread_mutex_lock(&proxy->mutex);
}

static void unlock_and_wake(struct tcpproxy *proxy)
{
    (void)!write(proxy->wake, &(uint64_t){ 1 }, sizeof(uint64_t));
    pthread_mutex_unlock(&proxy->mutex);
}

void tcpproxy_stop(struct tcpproxy *proxy)
{
    if (proxy == NULL)
        return;
    lock(proxy);
    proxy->ending = true;
    unlock_and_wake(proxy);
    pthread_join(proxy->thread, NULL);
    local_port_close(&proxy->port);
    close(proxy->wake);
    pthread_mutex_destroy(&proxy->mutex);
    free(proxy);
}

const char *tcpproxy_address(const struct tcpproxy *proxy)
{
    return proxy->port.address;
}

void tcpproxy_cut(struct tcpproxy *proxy, enum tcpproxy_way way,
                  enum tcpproxy_which which, uint64_t bytes)
{
    assert(way == TCPPROXY_UP || way == TCPPROXY_DOWN);
    lock(proxy);
    proxy->armed = true;
    proxy->struck = false;
    proxy->cut_way = way == TCPPROXY_UP ? UP : DOWN;
    proxy->cut_which = which;
    proxy->left = bytes;
    unlock_and_wake(proxy);
}

void tcpproxy_forget(struct tcpproxy *proxy)
{
    lock(proxy);
    proxy->armed = proxy->struck = false;
    unlock_and_wake(proxy);
}

bool tcpproxy_has_struck(struct tcpproxy *proxy)
{
    lock(proxy);
    bool struck = proxy->struck;
    pthread_mutex_unlock(&proxy->mutex);
    return struck;
}

bool tcpproxy_await(struct tcpproxy *proxy, int ms)
{
    hf_time end = hf_now() + ms * HF_MS;

    while (!tcpproxy_has_struck(proxy) && hf_now() < end)
        poll(NULL, 0, 1);
    return tcpproxy_has_struck(proxy);
}

static void set_ways(unsigned *set, enum tcpproxy_way way, enum tcpproxy_which which)
{
    if (way & TCPPROXY_UP)
        set[UP] = which;
    if (way & TCPPROXY_DOWN)
        set[DOWN] = which;
}

void tcpproxy_hold(struct tcpproxy *proxy, enum tcpproxy_way way,
                   enum tcpproxy_which which)
{
    lock(proxy);
    set_ways(proxy->held, way, which);
    unlock_and_wake(proxy);
}

void tcpproxy_swallow(struct tcpproxy *proxy, enum tcpproxy_way way,
                      enum tcpproxy_which which)
{
    lock(proxy);
    set_ways(proxy->swallowed, way, which);
    unlock_and_wake(proxy);
}

void tcpproxy_strand(struct tcpproxy *proxy, bool strand)
{
    lock(proxy);
    for (size_t i = 0; i < LINKS_MAX; i++)
        proxy->link[i].stranded = strand && proxy->link[i].fd[UP] >= 0;
    unlock_and_wake(proxy);
}

void tcpproxy_aim(struct tcpproxy *proxy, const char *target)
{
    lock(proxy);
    proxy->target = local_port_parse(target);
    unlock_and_wake(proxy);
}

void tcpproxy_refuse(struct tcpproxy *proxy, bool refuse)
{
    lock(proxy);
    local_port_listen(&proxy->port, !refuse);
    unlock_and_wake(proxy);
}

void tcpproxy_drop(struct tcpproxy *proxy, enum tcpproxy_which which)
{
    lock(proxy);
    for (size_t i = 0; i < LINKS_MAX; i++)
        proxy->link[i].dead |= (which & kind(&proxy->link[i])) != 0;
    sweep(proxy, false);
    unlock_and_wake(proxy);
}

uint64_t tcpproxy_bytes(struct tcpproxy *proxy, enum tcpproxy_way way,
                        enum tcpproxy_which which)
{
    uint64_t sum = 0;

    lock(proxy);
    for (unsigned one = TCPPROXY_PLAIN; one <= TCPPROXY_MARKED; one++) {
        sum += way & TCPPROXY_UP && which & one ? proxy->bytes[UP][one] : 0;
        sum += way & TCPPROXY_DOWN && which & one ? proxy->bytes[DOWN][one] : 0;
    }
    pthread_mutex_unlock(&proxy->mutex);
    return sum;
}

uint64_t tcpproxy_connections(struct tcpproxy *proxy)
{
    lock(proxy);
    uint64_t n = proxy->connections;
    pthread_mutex_unlock(&proxy->mutex);
    return n;
}

unsigned tcpproxy_open(struct tcpproxy *proxy, enum tcpproxy_which which)
{
    unsigned n = 0;

    lock(proxy);
    for (size_t i = 0; i < LINKS_MAX; i++)
        n += proxy->link[i].fd[UP] >= 0 && (which & kind(&proxy->link[i]));
    pthread_mutex_unlock(&proxy->mutex);
    return n;
}
