/* zkproxy.c - see zkproxy.h: the calls, the thread and the port. */
#include "lib/zkproxy_inner.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define LINKS_MAX 256

/* ---- The port ------------------------------------------------------------------ */

void port_settle(struct zkproxy *proxy)
{
    local_port_listen(&proxy->port, proxy->refuse_until <= hf_now());
}

static void accept_one(struct zkproxy *proxy)
{
    int client = local_port_accept(&proxy->port);

    if (client < 0)
        return;
    proxy->connections++;
    int server = local_port_reach(&proxy->target);
    if (server < 0) {
        setsockopt(client, SOL_SOCKET, SO_LINGER, &(struct linger){ 1, 0 },
                   sizeof(struct linger));
        close(client);
        return;
    }
    fcntl(client, F_SETFL, O_NONBLOCK);
    fcntl(server, F_SETFL, O_NONBLOCK);
    link_add(proxy, client, server);
}

/* ---- The thread ---------------------------------------------------------------- */

static size_t prepare(struct zkproxy *proxy, struct pollfd *ends, int *timeout)
{
    hf_time now = hf_now(), wake = HF_NEVER;
    size_t  n = 2;

    port_settle(proxy);
    if (proxy->refuse_until > now)
        wake = proxy->refuse_until;
    ends[0] = (struct pollfd){ .fd = proxy->wake, .events = POLLIN };
    ends[1] = (struct pollfd){ .fd = proxy->port.listener, .events = POLLIN };
    for (struct link *link = proxy->links; link != NULL; link = link->next, n += 2) {
        assert(n < 2 * LINKS_MAX);
        link_prepare(proxy, link, ends + n, &wake);
    }
    *timeout = hf_poll_ms(hf_now(), wake);
    return n;
}

static void process(struct zkproxy *proxy, const struct pollfd *ends)
{
    uint64_t unused;
    size_t   n = 2;

    if (ends[0].revents != 0)
        (void)!read(proxy->wake, &unused, sizeof unused);
    for (struct link *link = proxy->links; link != NULL; link = link->next, n += 2)
        link_process(proxy, link, ends + n);
    links_sweep(proxy, false);
    if (ends[1].revents != 0 && proxy->port.listener >= 0)
        accept_one(proxy); /* last: the new link was not polled */
}

static void *run(void *data)
{
    struct zkproxy *proxy = data;
    struct pollfd   ends[2 * LINKS_MAX + 2];
    int             timeout;

    pthread_mutex_lock(&proxy->mutex);
    while (!proxy->ending) {
        size_t n = prepare(proxy, ends, &timeout);
        pthread_mutex_unlock(&proxy->mutex);
        int r = poll(ends, (nfds_t)n, timeout);
        pthread_mutex_lock(&proxy->mutex);
        if (r < 0)
            continue;
        process(proxy, ends);
    }
    links_sweep(proxy, true);
    pthread_mutex_unlock(&proxy->mutex);
    return NULL;
}

/* ---- The calls ----------------------------------------------------------------- */

struct zkproxy *zkproxy_start(const char *target)
{
    struct zkproxy *proxy = calloc(1, sizeof *proxy);

    assert(proxy != NULL);
    proxy->target = local_port_parse(target);
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&proxy->strike, &attr);
    pthread_condattr_destroy(&attr);
    pthread_mutex_init(&proxy->mutex, NULL);
    proxy->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    assert(proxy->wake >= 0);
    local_port_open(&proxy->port);
    int r = pthread_create(&proxy->thread, NULL, run, proxy);
    assert(r == 0);
    return proxy;
}

static void lock(struct zkproxy *proxy)
{
    pthread_mutex_lock(&proxy->mutex);
}

static void unlock_and_wake(struct zkproxy *proxy)
{
    (void)!write(proxy->wake, &(uint64_t){ 1 }, sizeof(uint64_t));
    pthread_mutex_unlock(&proxy->mutex);
}

void zkproxy_stop(struct zkproxy *proxy)
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
    pthread_cond_destroy(&proxy->strike);
    free(proxy);
}

const char *zkproxy_address(const struct zkproxy *proxy)
{
    return proxy->port.address;
}

void zkproxy_rule(struct zkproxy *proxy, const struct zkproxy_rule *rule)
{
    lock(proxy);
    proxy->struck = false;
    proxy->armed = rule != NULL;
    if (rule != NULL) {
        proxy->rule = *rule;
        proxy->left = rule->nth;
    }
    for (struct link *link = proxy->links; link != NULL; link = link->next)
        link->awaited = false; /* that was the rule before */
    unlock_and_wake(proxy);
}

bool zkproxy_has_struck(struct zkproxy *proxy)
{
    return zkproxy_await(proxy, 0);
}

bool zkproxy_await(struct zkproxy *proxy, int ms)
{
    struct timespec end;

    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += ms / 1000;
    end.tv_nsec += ms % 1000 * 1000000L;
    if (end.tv_nsec >= 1000000000L) {
        end.tv_sec++;
        end.tv_nsec -= 1000000000L;
    }
    lock(proxy);
    int r = 0;
    while (!proxy->struck && r == 0)
        r = pthread_cond_timedwait(&proxy->strike, &proxy->mutex, &end);
    bool struck = proxy->struck;
    pthread_mutex_unlock(&proxy->mutex);
    return struck;
}

void zkproxy_freeze(struct zkproxy *proxy, enum zkproxy_way way)
{
    lock(proxy);
    proxy->frozen |= (int)way;
    unlock_and_wake(proxy);
}

void zkproxy_thaw(struct zkproxy *proxy)
{
    lock(proxy);
    proxy->frozen = 0;
    unlock_and_wake(proxy);
}

void zkproxy_delay(struct zkproxy *proxy, enum zkproxy_way way, int ms)
{
    lock(proxy);
    if (way & ZKPROXY_UP)
        proxy->delay_ms[UP] = ms;
    if (way & ZKPROXY_DOWN)
        proxy->delay_ms[DOWN] = ms;
    unlock_and_wake(proxy);
}

void zkproxy_refuse(struct zkproxy *proxy, int ms)
{
    lock(proxy);
    proxy->refuse_until = ms == 0 ? 0 : hf_after_ms(hf_now(), ms);
    port_settle(proxy);
    unlock_and_wake(proxy);
}

void zkproxy_drop(struct zkproxy *proxy)
{
    lock(proxy);
    for (struct link *link = proxy->links; link != NULL; link = link->next)
        link->dead = link->reset = true;
    unlock_and_wake(proxy);
}

void zkproxy_swallow_pings(struct zkproxy *proxy, bool swallow)
{
    lock(proxy);
    proxy->swallow_pings = swallow;
    unlock_and_wake(proxy);
}

/* ---- Counts -------------------------------------------------------------------- */

uint64_t zkproxy_requests(struct zkproxy *proxy, int32_t opcode)
{
    uint64_t sum = 0;

    lock(proxy);
    for (size_t i = 0; i < proxy->tallies; i++) {
        int32_t one = proxy->tally[i].opcode;
        bool    any = opcode == ZKPROXY_ANY && one != ZKPROXY_CONNECT && one != 11;
        if (one == opcode || any)
            sum += proxy->tally[i].count;
    }
    pthread_mutex_unlock(&proxy->mutex);
    return sum;
}

static uint64_t total(struct zkproxy *proxy, const uint64_t *counts, enum zkproxy_way way)
{
    lock(proxy);
    uint64_t sum =
        (way & ZKPROXY_UP ? counts[UP] : 0) + (way & ZKPROXY_DOWN ? counts[DOWN] : 0);
    pthread_mutex_unlock(&proxy->mutex);
    return sum;
}

uint64_t zkproxy_packets(struct zkproxy *proxy, enum zkproxy_way way)
{
    return total(proxy, proxy->packets, way);
}

uint64_t zkproxy_bytes(struct zkproxy *proxy, enum zkproxy_way way)
{
    return total(proxy, proxy->bytes, way);
}

uint64_t zkproxy_connections(struct zkproxy *proxy)
{
    lock(proxy);
    uint64_t n = proxy->connections;
    pthread_mutex_unlock(&proxy->mutex);
    return n;
}
