/* zkproxy_link.c - one connection through the proxy: two ways, frames, and the rule. */
#include "lib/zkproxy_inner.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define FRAME_MAX (16u << 20) /* more is not ZooKeeper's */
#define READ_SIZE 65536
#define OP_PING   11

static int32_t int_at(const unsigned char *bytes, size_t at)
{
    uint32_t value;

    memcpy(&value, bytes + at, sizeof value);
    return (int32_t)be32toh(value);
}

void link_add(struct zkproxy *proxy, int client, int server)
{
    struct link *link = calloc(1, sizeof *link);

    assert(link != NULL);
    link->way[UP] = (struct way){ .in = client, .out = server };
    link->way[DOWN] = (struct way){ .in = server, .out = client };
    for (int i = 0; i < WAYS; i++)
        link->way[i].last = &link->way[i].first;
    link->next = proxy->links;
    proxy->links = link;
}

static void link_free(struct link *link)
{
    /* The server gets a close without a reset, so that it still reads the bytes
     * before. */
    if (link->reset)
        setsockopt(link->way[UP].in, SOL_SOCKET, SO_LINGER, &(struct linger){ 1, 0 },
                   sizeof(struct linger));
    close(link->way[UP].in);
    close(link->way[DOWN].in);
    for (int i = 0; i < WAYS; i++) {
        struct way *way = &link->way[i];
        while (way->first != NULL) {
            struct chunk *chunk = way->first;
            way->first = chunk->next;
            free(chunk);
        }
        free(way->buffer);
    }
    free(link);
}

void links_sweep(struct zkproxy *proxy, bool all)
{
    struct link **at = &proxy->links;

    while (*at != NULL) {
        struct link *link = *at;
        if (link->dead || all) {
            *at = link->next;
            link_free(link);
        } else {
            at = &link->next;
        }
    }
}

/* ---- The rule ------------------------------------------------------------------ */

static void strike(struct zkproxy *proxy, struct link *link)
{
    enum zkproxy_fault fault = proxy->rule.fault;

    proxy->armed = false;
    proxy->struck = true;
    if (fault == ZKPROXY_FREEZE_BEFORE || fault == ZKPROXY_FREEZE_AFTER)
        proxy->frozen = ZKPROXY_BOTH;
    else
        link->dead = link->reset = true;
    if (proxy->rule.refuse_ms != 0)
        proxy->refuse_until = hf_after_ms(hf_now(), proxy->rule.refuse_ms);
    port_settle(proxy);
    pthread_cond_broadcast(&proxy->strike);
}

static void count(struct zkproxy *proxy, int32_t opcode)
{
    size_t i = 0;

    while (i < proxy->tallies && proxy->tally[i].opcode != opcode)
        i++;
    assert(i < TALLIES);
    if (i == proxy->tallies)
        proxy->tally[proxy->tallies++].opcode = opcode;
    proxy->tally[i].count++;
}

static bool is_cut(enum zkproxy_fault fault)
{
    return fault == ZKPROXY_CUT_UP || fault == ZKPROXY_CUT_DOWN;
}

static bool is_meant(const struct zkproxy *proxy, int32_t opcode)
{
    if (!proxy->armed || proxy->left == 0 || is_cut(proxy->rule.fault))
        return false;
    if (proxy->rule.opcode == ZKPROXY_ANY)
        return opcode != ZKPROXY_CONNECT && opcode != OP_PING;
    return opcode == proxy->rule.opcode;
}

/* A request was read.  False: drop it. */
static bool take_request(struct zkproxy *proxy, struct link *link,
                         const unsigned char *body, size_t size)
{
    bool    connect = link->way[UP].frames == 0;
    int32_t opcode = connect || size < 8 ? ZKPROXY_CONNECT : int_at(body, 4);

    count(proxy, opcode);
    if (is_meant(proxy, opcode) && --proxy->left == 0) {
        enum zkproxy_fault fault = proxy->rule.fault;
        if (fault == ZKPROXY_DROP_BEFORE || fault == ZKPROXY_FREEZE_BEFORE) {
            strike(proxy, link);
        } else {
            link->awaited = true;
            link->connect = connect;
            link->xid = connect ? 0 : int_at(body, 0);
        }
    }
    return !link->dead && !(opcode == OP_PING && proxy->swallow_pings);
}

/* The same with an answer. */
static bool take_answer(struct zkproxy *proxy, struct link *link,
                        const unsigned char *body, size_t size)
{
    bool first = link->way[DOWN].frames == 0;

    if (!link->awaited || link->connect != first)
        return true;
    if (!first && (size < 4 || int_at(body, 0) != link->xid))
        return true;
    link->awaited = false;
    if (proxy->armed && proxy->left == 0)
        strike(proxy, link);
    return !link->dead;
}

/* ---- One way ------------------------------------------------------------------- */

/* How much of a chunk may be sent: a cut allows only so much. */
static size_t allowance(const struct zkproxy *proxy, int which, size_t size)
{
    enum zkproxy_fault cut = which == UP ? ZKPROXY_CUT_UP : ZKPROXY_CUT_DOWN;

    if (!proxy->armed || proxy->rule.fault != cut || proxy->left > size)
        return size;
    return (size_t)proxy->left;
}

static void send_some(struct zkproxy *proxy, struct link *link, int which)
{
    struct way   *way = &link->way[which];
    struct chunk *chunk = way->first;
    size_t        size = allowance(proxy, which, chunk->size - chunk->sent);

    if (size == 0) {
        strike(proxy, link);
        return;
    }
    ssize_t n = send(way->out, chunk->bytes + chunk->sent, size, MSG_NOSIGNAL);
    if (n < 0) {
        way->blocked = errno == EAGAIN;
        link->dead = link->reset = !way->blocked && errno != EINTR;
        return;
    }
    chunk->sent += (size_t)n;
    proxy->bytes[which] += (uint64_t)n;
    if (proxy->armed && is_cut(proxy->rule.fault) &&
        (proxy->rule.fault == ZKPROXY_CUT_UP) == (which == UP))
        proxy->left -= (uint64_t)n;
    if (chunk->sent < chunk->size)
        return;
    proxy->packets[which] += chunk->frame;
    way->first = chunk->next;
    if (way->first == NULL)
        way->last = &way->first;
    free(chunk);
}

static bool is_frozen(const struct zkproxy *proxy, int which)
{
    return (proxy->frozen & (which == UP ? ZKPROXY_UP : ZKPROXY_DOWN)) != 0;
}

static void flush(struct zkproxy *proxy, struct link *link, int which)
{
    struct way *way = &link->way[which];

    while (!link->dead && !way->blocked && !is_frozen(proxy, which) &&
           way->first != NULL && way->first->due <= hf_now())
        send_some(proxy, link, which);
    if (way->ended && way->first == NULL && !is_frozen(proxy, which))
        link->dead = true;
}

static void enqueue(const struct zkproxy *proxy, struct way *way, int which,
                    const unsigned char *bytes, size_t size)
{
    struct chunk *chunk = malloc(sizeof *chunk + size);

    assert(chunk != NULL);
    *chunk = (struct chunk){ .due = hf_now() + proxy->delay_ms[which] * HF_MS,
                             .frame = !way->raw,
                             .size = size };
    memcpy(chunk->bytes, bytes, size);
    *way->last = chunk;
    way->last = &chunk->next;
}

/* Pass on complete frames, and bytes of other protocols as they come. */
static void take_frames(struct zkproxy *proxy, struct link *link, int which)
{
    struct way *way = &link->way[which];
    size_t      at = 0;

    while (!link->dead && way->used - at >= 4) {
        const unsigned char *frame = way->buffer + at;
        size_t               size = way->used - at;
        way->raw =
            way->raw || (way->frames == 0 && (uint32_t)int_at(frame, 0) > FRAME_MAX);
        bool pass = true;
        if (!way->raw) {
            if ((uint32_t)int_at(frame, 0) > size - 4)
                break;
            size = 4 + (uint32_t)int_at(frame, 0);
            pass = which == UP ? take_request(proxy, link, frame + 4, size - 4)
                               : take_answer(proxy, link, frame + 4, size - 4);
            way->frames++;
        }
        if (pass)
            enqueue(proxy, way, which, frame, size);
        at += size;
        flush(proxy, link, which);
    }
    memmove(way->buffer, way->buffer + at, way->used - at);
    way->used -= at;
}

static void receive(struct zkproxy *proxy, struct link *link, int which)
{
    struct way *way = &link->way[which];

    if (way->room - way->used < READ_SIZE) {
        way->room = 2 * way->room + READ_SIZE;
        way->buffer = realloc(way->buffer, way->room);
        assert(way->buffer != NULL);
    }
    ssize_t n = recv(way->in, way->buffer + way->used, READ_SIZE, 0);
    if (n > 0) {
        way->used += (size_t)n;
        take_frames(proxy, link, which);
    } else if (n == 0) {
        way->ended = true;
    } else if (errno != EAGAIN && errno != EINTR) {
        link->dead = link->reset = true;
    }
}

/* ---- The link ------------------------------------------------------------------ */

void link_prepare(const struct zkproxy *proxy, const struct link *link,
                  struct pollfd ends[2], hf_time *wake)
{
    ends[0] = (struct pollfd){ .fd = link->way[UP].in };
    ends[1] = (struct pollfd){ .fd = link->way[DOWN].in };
    for (int i = 0; i < WAYS; i++) {
        const struct way *way = &link->way[i];
        if (is_frozen(proxy, i))
            continue;
        if (way->blocked)
            ends[1 - i].events |= POLLOUT;
        else if (!way->ended)
            ends[i].events |= POLLIN;
        if (!way->blocked && way->first != NULL && way->first->due < *wake)
            *wake = way->first->due;
    }
    for (int i = 0; i < 2; i++)
        if (ends[i].events == 0)
            ends[i].fd = -1; /* poll() would report its end again and again */
}

void link_process(struct zkproxy *proxy, struct link *link, const struct pollfd ends[2])
{
    for (int i = 0; i < WAYS && !link->dead; i++) {
        if (ends[1 - i].revents & (POLLOUT | POLLERR | POLLHUP))
            link->way[i].blocked = false;
        if (ends[i].revents != 0 && (ends[i].events & POLLIN) && !is_frozen(proxy, i))
            receive(proxy, link, i);
        flush(proxy, link, i);
    }
}
