/* link.c - a connection to one of the servers, and the session on it.
 *
 *     RESTING --> RESOLVING --> REACHING --> GREETING --> READY
 *        ^            |             |            |          |
 *        +------------+-------------+------------+----------+  it broke
 *
 * Happy path: a server's name is looked up, a stream opened, the connect request
 * answered with our session; then calls flow.
 *
 * Failures: each attempt has a short limit, each server its turn; after all of
 * them have failed there is a pause that grows.  Calls in flight are answered with
 * HF_ZK_CONNECTION_LOSS.  A server that does not know our session any more tells us
 * that it is dead: everything in it is gone, and the next greeting asks for a new one.
 */
#include "store/zookeeper/inner.h"

#include "base/fork.h"
#include "base/random.h"

#include <assert.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#define FAREWELL (100 * HF_MS) /* how long close waits at most, if we hold anything */

static void try_next(struct hf_zk *zk);

const char *hf_zk_link_server(const struct hf_zk *zk, char *ret, size_t size)
{
    const struct hf_zk_server *server = &zk->config.server[zk->link.server];
    bool                       v6 = strchr(server->host, ':') != NULL;

    snprintf(ret, size, "%s%.100s%s:%s", v6 ? "[" : "", server->host, v6 ? "]" : "",
             server->port);
    return ret;
}

void hf_zk_link_set(struct hf_zk *zk, enum hf_link link)
{
    hf_store_set_link(&zk->base, link);
}

/* How long one server may take to be reached, until the next has its turn; and then, to
 * make or find a session: longer each time, for one that is only slow would never be
 * used, and each try may leave a session behind. */
static hf_time patience(const struct hf_zk *zk, unsigned doubled, hf_time most)
{
    hf_time limit = zk->config.session_ms * HF_MS / 6;

    limit = (limit < 2 * HF_SEC ? limit : 2 * HF_SEC) << (doubled < 10 ? doubled : 10);
    return limit < most ? limit : most;
}

/* ---- What is polled ------------------------------------------------------------------ */

static void poll_fd(struct hf_zk *zk, int fd, unsigned events)
{
    struct epoll_event event = { .events = events };
    int                op = zk->link.polled == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;

    if (zk->link.polled == events)
        return;
    epoll_ctl(zk->base.fd, op, fd, &event);
    zk->link.polled = events;
}

static void unpoll_fd(struct hf_zk *zk, int fd)
{
    if (zk->link.polled != 0 && fd >= 0)
        epoll_ctl(zk->base.fd, EPOLL_CTL_DEL, fd, NULL);
    zk->link.polled = 0;
}

static void close_stream(struct hf_zk *zk)
{
    if (zk->link.phase < HF_ZK_REACHING)
        return;
    unpoll_fd(zk, zk->link.stream.fd);
    hf_stream_close(&zk->link.stream);
    zk->link.used = zk->link.skip = 0;
    zk->link.more = false;
}

static void end_resolve(struct hf_zk *zk)
{
    if (zk->link.resolve == NULL)
        return;
    unpoll_fd(zk, hf_resolve_fd(zk->link.resolve));
    hf_resolve_free(zk->link.resolve);
    zk->link.resolve = NULL;
}

/* ---- Breaking ---------------------------------------------------------------------- */

static void say_why(struct hf_zk *zk, const char *why)
{
    char server[128];

    snprintf(zk->base.errmsg, sizeof zk->base.errmsg, "ZooKeeper at %s %s",
             hf_zk_link_server(zk, server, sizeof server), why);
}

/* All servers were tried and it is no use to try again soon: say so to whoever asks,
 * instead of letting him wait. */
static void refuse(struct hf_zk *zk)
{
    zk->link.refused = zk->base.refusing = true;
    zk->link.due = zk->remote.now + HF_SEC;
    hf_zk_link_set(zk, HF_LINK_UP);
}

/* Longer and longer; but short of a session that is running out meanwhile. */
static hf_time pause_for(struct hf_zk *zk)
{
    hf_time pause = hf_retry_next(&zk->link.retry);
    hf_time most = zk->link.timeout / 20;

    return zk->tickets > 0 && pause > most ? most : pause;
}

/* The next server has its turn, at once; after all of them, a pause. */
static void next_server(struct hf_zk *zk, bool denied)
{
    struct hf_zk_link *link = &zk->link;

    link->addresses = 0;
    hf_store_tried(&zk->base, link->tried + 1 == zk->config.servers);
    if (++link->tried < zk->config.servers)
        return;
    link->tried = 0;
    if (denied)
        refuse(zk);
    else
        link->due = zk->remote.now + pause_for(zk);
}

void hf_zk_link_break(struct hf_zk *zk, const char *why)
{
    struct hf_zk_link *link = &zk->link;
    bool               denied = link->phase >= HF_ZK_REACHING && link->stream.denied;
    bool               more_addresses =
        link->phase == HF_ZK_REACHING && link->next_address < link->addresses && !denied;

    if (link->phase == HF_ZK_RESTING)
        return;
    say_why(zk, why);
    end_resolve(zk);
    close_stream(zk);
    link->phase = HF_ZK_RESTING;
    link->due = zk->remote.now;
    if (!more_addresses)
        next_server(zk, denied);
    if (!link->refused)
        hf_zk_link_set(zk, HF_LINK_DOWN);
    hf_zk_calls_fail(zk);
    hf_zk_lines_fail(zk);
}

void hf_zk_link_lose(struct hf_zk *zk)
{
    struct hf_zk_link *link = &zk->link;

    end_resolve(zk);
    close_stream(zk);
    link->phase = HF_ZK_RESTING;
    link->due = zk->remote.now;
    link->session = 0;
    link->zxid = 0;
    memset(link->password, 0, sizeof link->password);
    say_why(zk, "says that our session has expired");
    hf_remote_lose(&zk->remote);
}

/* ---- Connecting ---------------------------------------------------------------------- */

static void reach(struct hf_zk *zk)
{
    struct hf_zk_link *link = &zk->link;
    struct hf_address *address = &link->address[link->next_address++];

    end_resolve(zk);
    link->phase = HF_ZK_REACHING;
    hf_stream_open(&link->stream, (struct sockaddr *)&address->at, address->length,
                   zk->tls, zk->config.server[link->server].host);
}

static void take_addresses(struct hf_zk *zk)
{
    struct hf_zk_link *link = &zk->link;
    int                n = hf_resolve_get(link->resolve, link->address, HF_RESOLVE_MAX);

    if (n < 0) {
        char why[HF_ERRMSG_MAX];
        snprintf(why, sizeof why, "is not to be found: %.150s",
                 hf_resolve_error(link->resolve));
        hf_zk_link_break(zk, why);
    } else if (n > 0) {
        link->addresses = n;
        link->next_address = 0;
        reach(zk);
    } else {
        poll_fd(zk, hf_resolve_fd(link->resolve), EPOLLIN);
    }
}

static void try_next(struct hf_zk *zk)
{
    struct hf_zk_link *link = &zk->link;

    if (link->refused) {
        link->refused = zk->base.refusing = false;
        hf_zk_link_set(zk, HF_LINK_DOWN);
    }
    link->due = zk->remote.now + patience(zk, 0, HF_NEVER);
    if (link->addresses > 0 && link->next_address < link->addresses) {
        reach(zk);
        return;
    }
    link->server = link->order[link->next_server];
    link->next_server = (link->next_server + 1) % zk->config.servers;
    link->phase = HF_ZK_RESOLVING;
    if (zk->base.errmsg[0] == '\0') /* should somebody give up before we know more */
        say_why(zk, "does not answer");
    const struct hf_zk_server *server = &zk->config.server[link->server];
    if (hf_resolve_new(server->host, server->port, &link->resolve) < 0)
        hf_zk_link_break(zk, "cannot be looked up: out of memory");
    else
        take_addresses(zk);
}

/* Is there a session that may be saved by another server?  One that no server has spoken
 * of for all its time is dead, and that too must be heard from a server that is slow. */
static bool may_live(const struct hf_zk *zk)
{
    return zk->link.session != 0 && zk->remote.now < zk->beat.heard + zk->link.timeout;
}

/* readOnly is asked for only so that a server without a quorum says so, instead of
 * hanging up without a word. */
static void greet(struct hf_zk *zk)
{
    struct hf_zk_link   *link = &zk->link;
    struct hf_zk_writer *out = &zk->calls.out;

    assert(zk->calls.first == NULL && out->used == 0);
    size_t begin = hf_zk_frame_begin(out);
    hf_zk_put_int(out, 0);
    hf_zk_put_long(out, link->zxid);
    hf_zk_put_int(out, zk->config.session_ms);
    hf_zk_put_long(out, link->session);
    hf_zk_put_bytes(out, link->password, sizeof link->password);
    hf_zk_put_byte(out, true);
    hf_zk_frame_end(out, begin);
    link->greeted = zk->remote.now;
    link->due = zk->remote.now + patience(zk, link->slow,
                                          may_live(zk) ? link->timeout / 3
                                                       : zk->config.session_ms * HF_MS);
    link->phase = HF_ZK_GREETING;
    hf_zk_link_flush(zk);
}

/* ---- Turns --------------------------------------------------------------------------- */

static void step(struct hf_zk *zk)
{
    struct hf_zk_link *link = &zk->link;

    hf_stream_step(&link->stream);
    if (link->stream.state == HF_STREAM_BROKEN) {
        char why[HF_ERRMSG_MAX];
        snprintf(why, sizeof why, "cannot be reached: %.180s", link->stream.errmsg);
        hf_zk_link_break(zk, why);
    } else if (link->stream.state == HF_STREAM_OPEN) {
        greet(zk);
    }
}

void hf_zk_link_run(struct hf_zk *zk, bool readable)
{
    struct hf_zk_link *link = &zk->link;

    if (link->phase == HF_ZK_RESTING && zk->remote.now >= link->due)
        try_next(zk);
    if (link->phase == HF_ZK_RESOLVING)
        take_addresses(zk);
    if (link->phase == HF_ZK_REACHING)
        step(zk);
    /* Before the clock is looked at: after a pause it may have been here long. */
    if (link->phase >= HF_ZK_GREETING && (readable || link->more))
        hf_zk_frames_read(zk);
    if (link->phase != HF_ZK_RESTING && link->phase != HF_ZK_READY &&
        zk->remote.now >= link->due) {
        link->slow += link->phase == HF_ZK_GREETING;
        hf_zk_link_break(zk, link->phase == HF_ZK_GREETING
                                 ? "does not answer (has it a quorum?)"
                                 : "does not answer");
    }
}

void hf_zk_link_flush(struct hf_zk *zk)
{
    struct hf_zk_link   *link = &zk->link;
    struct hf_zk_writer *out = &zk->calls.out;

    if (link->phase < HF_ZK_REACHING)
        return;
    if (out->used > 0 || out->failed) {
        void *room = out->failed ? NULL : hf_stream_append(&link->stream, out->used);
        if (room == NULL) {
            hf_zk_link_break(zk, "cannot be told everything: out of memory");
            return;
        }
        memcpy(room, out->bytes, out->used);
        out->used = 0;
        zk->beat.spoke = zk->remote.now;
        hf_stream_flush(&link->stream);
    } else if (link->phase >= HF_ZK_GREETING) {
        hf_stream_flush(&link->stream);
    }
    if (link->stream.state == HF_STREAM_BROKEN)
        hf_zk_link_break(zk, link->stream.errmsg);
    else
        poll_fd(zk, link->stream.fd, hf_stream_events(&link->stream));
}

hf_time hf_zk_link_wake(const struct hf_zk *zk)
{
    if (zk->link.more)
        return 0;
    return zk->link.phase == HF_ZK_READY ? HF_NEVER : zk->link.due;
}

/* ---- Both ends of its life ------------------------------------------------------------ */

void hf_zk_link_init(struct hf_zk *zk, uint64_t seed)
{
    struct hf_zk_link *link = &zk->link;

    hf_retry_init(&link->retry, 50 * HF_MS, HF_SEC, seed);
    for (size_t i = 0; i < zk->config.servers; i++) {
        size_t at = (size_t)(hf_random_next(&seed) % (i + 1));
        link->order[i] = link->order[at];
        link->order[at] = i;
    }
}

/* The server hangs up when the session has ended and its nodes are gone. */
static void await_end(struct hf_zk *zk)
{
    struct hf_stream *stream = &zk->link.stream;
    hf_time           end = hf_now() + FAREWELL;
    unsigned char     unread[4096];

    while (stream->state == HF_STREAM_OPEN && hf_now() < end) {
        struct pollfd poll_fd = { .fd = stream->fd,
                                  .events = (short)hf_stream_events(stream) };
        if (poll(&poll_fd, 1, hf_poll_ms(hf_now(), end)) <= 0)
            continue;
        hf_stream_flush(stream);
        while (hf_stream_read(stream, unread, sizeof unread) > 0)
            continue;
    }
}

void hf_zk_link_finish(struct hf_zk *zk)
{
    struct hf_zk_link *link = &zk->link;

    if (link->phase == HF_ZK_READY) {
        struct hf_zk_writer *out = &zk->calls.out;
        size_t               begin = hf_zk_frame_begin(out);
        hf_zk_put_int(out, 0);
        hf_zk_put_int(out, HF_ZK_CLOSE);
        hf_zk_frame_end(out, begin);
        if (!out->failed)
            hf_zk_link_flush(zk);
        if (zk->tickets > 0)
            await_end(zk);
    }
    end_resolve(zk);
    close_stream(zk);
    explicit_bzero(link->password, sizeof link->password);
    free(link->in);
}
