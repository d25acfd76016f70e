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

#define ROOM_FIRST ((size_t)64 * 1024)
#define FAREWELL   (100 * HF_MS) /* how long close waits at most, if we hold anything */

static void try_next(struct hf_zk *zk);

const char *hf_zk_link_server(const struct hf_zk *zk, char *ret, size_t size)
{
    const struct hf_zk_server *server = &zk->config.server[zk->link.server];
    bool                       v6 = strchr(server->host, ':') != NULL;

    snprintf(ret, size, "%s%.200s%s:%s", v6 ? "[" : "", server->host, v6 ? "]" : "",
             server->port);
    return ret;
}

static void set_link(struct hf_zk *zk, enum hf_link link)
{
    if (zk->base.link == link)
        return;
    zk->base.link = link;
    if (zk->base.on_link != NULL)
        zk->base.on_link(&zk->base, zk->base.on_link_data);
}

/* How long one server may take until the next has its turn. */
static hf_time patience(const struct hf_zk *zk)
{
    hf_time limit = zk->config.session_ms * HF_MS / 6;

    return limit < 2 * HF_SEC ? limit : 2 * HF_SEC;
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
    zk->link.used = 0;
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
    char server[256];

    snprintf(zk->base.errmsg, sizeof zk->base.errmsg, "ZooKeeper at %s %s",
             hf_zk_link_server(zk, server, sizeof server), why);
}

/* All servers were tried and it is no use to try again soon: say so to whoever asks,
 * instead of letting him wait. */
static void refuse(struct hf_zk *zk)
{
    zk->link.refused = true;
    zk->link.due = zk->now + HF_SEC;
    set_link(zk, HF_LINK_UP);
}

static void rest(struct hf_zk *zk, bool denied)
{
    struct hf_zk_link *link = &zk->link;

    link->phase = HF_ZK_RESTING;
    link->due = zk->now;
    if (++link->tried < zk->config.servers)
        return;
    link->tried = 0;
    if (denied)
        refuse(zk);
    else
        link->due = zk->now + hf_retry_next(&link->retry);
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
    if (!more_addresses)
        link->addresses = 0;
    link->tried -= more_addresses && link->tried > 0;
    rest(zk, denied);
    if (!link->refused)
        set_link(zk, HF_LINK_DOWN);
    hf_zk_calls_fail(zk);
    hf_zk_lines_fail(zk);
}

void hf_zk_link_lose(struct hf_zk *zk)
{
    struct hf_zk_link *link = &zk->link;

    end_resolve(zk);
    close_stream(zk);
    link->phase = HF_ZK_RESTING;
    link->due = zk->now;
    link->session = 0;
    link->zxid = 0;
    memset(link->password, 0, sizeof link->password);
    zk->base.alive_until = 0;
    say_why(zk, "says that our session has expired");
    set_link(zk, HF_LINK_LOST);
    hf_zk_calls_fail(zk);
    hf_zk_lines_fail(zk);
    hf_zk_watches_drop(zk);
    while (zk->tasks != NULL)
        hf_zk_finish(zk, zk->tasks, HF_EDOWN);
    hf_zk_tickets_drop(zk);
    for (struct hf_req *req; (req = hf_requests_take(&zk->waiting)) != NULL;) {
        req->status = HF_EDOWN;
        req->done(req);
    }
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
        link->refused = false;
        set_link(zk, HF_LINK_DOWN);
    }
    link->due = zk->now + patience(zk);
    if (link->addresses > 0 && link->next_address < link->addresses) {
        reach(zk);
        return;
    }
    link->server = link->order[link->next_server];
    link->next_server = (link->next_server + 1) % zk->config.servers;
    link->phase = HF_ZK_RESOLVING;
    const struct hf_zk_server *server = &zk->config.server[link->server];
    if (hf_resolve_new(server->host, server->port, &link->resolve) < 0)
        hf_zk_link_break(zk, "cannot be looked up: out of memory");
    else
        take_addresses(zk);
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
    link->greeted = zk->now;
    link->phase = HF_ZK_GREETING;
    hf_zk_link_flush(zk);
}

/* ---- Greeted ------------------------------------------------------------------------- */

static void introduce(struct hf_zk *zk)
{
    struct hf_zk_writer *out = &zk->calls.out;

    if (zk->config.auth == NULL)
        return;
    size_t begin = hf_zk_frame_begin(out);
    hf_zk_put_int(out, HF_ZK_XID_AUTH);
    hf_zk_put_int(out, HF_ZK_AUTH);
    hf_zk_put_int(out, 0);
    hf_zk_put_string(out, "digest");
    hf_zk_put_bytes(out, zk->config.auth, strlen(zk->config.auth));
    hf_zk_frame_end(out, begin);
}

static void be_ready(struct hf_zk *zk, int64_t session, int32_t timeout,
                     struct hf_zk_text password, hf_time answered)
{
    struct hf_zk_link *link = &zk->link;
    bool               fresh = link->session == 0;

    link->session = session;
    link->timeout = timeout * HF_MS;
    memset(link->password, 0, sizeof link->password);
    memcpy(link->password, password.bytes,
           password.size < sizeof link->password ? password.size : sizeof link->password);
    link->phase = HF_ZK_READY;
    link->tried = 0;
    link->addresses = 0;
    hf_retry_reset(&link->retry);
    hf_zk_beat_start(zk, link->greeted, answered, fresh);
    introduce(zk);
    hf_zk_watches_restore(zk);
    hf_zk_vigils_resume(zk);
    zk->base.errmsg[0] = '\0';
    set_link(zk, HF_LINK_UP);
}

static void take_greeting(struct hf_zk *zk, struct hf_zk_reader frame, hf_time answered)
{
    int32_t           version = hf_zk_get_int(&frame);
    int32_t           timeout = hf_zk_get_int(&frame);
    int64_t           session = hf_zk_get_long(&frame);
    struct hf_zk_text password = hf_zk_get_text(&frame);
    bool              bad = frame.bad || version != 0 || password.size > 64;
    bool              read_only = !bad && hf_zk_get_byte(&frame) != 0 && !frame.bad;

    if (bad)
        hf_zk_link_break(zk, "does not speak ZooKeeper's protocol");
    else if (read_only)
        hf_zk_link_break(zk, "is read-only: it has lost its quorum");
    else if (timeout <= 0 || session == 0)
        hf_zk_link_lose(zk);
    else if (timeout < 2000)
        hf_zk_link_break(zk, "gives sessions less than 2 s; raise maxSessionTimeout");
    else
        be_ready(zk, session, timeout, password, answered);
}

static void take_event(struct hf_zk *zk, struct hf_zk_reader *frame)
{
    int32_t type = hf_zk_get_int(frame);

    hf_zk_get_int(frame); /* the state of the connection: we know better */
    struct hf_zk_text path = hf_zk_get_text(frame);
    if (frame->bad)
        hf_zk_link_break(zk, "sends events that make no sense");
    else
        hf_zk_watches_event(zk, type, path);
}

/* The identity was refused; with any other it would be the same. */
static void deny(struct hf_zk *zk)
{
    zk->link.stream.denied = true;
    zk->link.tried = zk->config.servers;
    hf_zk_link_break(zk, "refuses user and password");
}

static void take_frame(struct hf_zk *zk, struct hf_zk_reader frame, hf_time answered)
{
    struct hf_zk_reader head = frame;
    int32_t             xid = hf_zk_get_int(&head);
    int64_t             zxid = hf_zk_get_long(&head);
    int32_t             error = hf_zk_get_int(&head);

    zk->beat.heard = answered;
    switch (head.bad ? 0 : xid) {
    case HF_ZK_XID_EVENT:
        take_event(zk, &head);
        break;
    case HF_ZK_XID_PING:
        if (zxid > zk->link.zxid)
            zk->link.zxid = zxid;
        hf_zk_beat_pong(zk, answered);
        break;
    case HF_ZK_XID_AUTH:
        if (error != 0)
            deny(zk);
        break;
    case HF_ZK_XID_SET_WATCHES:
        hf_zk_watches_restored(zk);
        break;
    default:
        if (error == HF_ZK_SESSION_EXPIRED)
            hf_zk_link_lose(zk);
        else if (error == HF_ZK_SESSION_MOVED)
            hf_zk_link_break(zk, "says that our session has moved");
        else if (!hf_zk_calls_answer(zk, frame, answered))
            hf_zk_link_break(zk, "answers what was not asked");
    }
}

/* ---- Reading ------------------------------------------------------------------------- */

static bool make_room(struct hf_zk_link *link, size_t size)
{
    if (link->room >= size)
        return true;

    size_t room = link->room > 0 ? link->room : ROOM_FIRST;
    while (room < size)
        room *= 2;
    unsigned char *grown = realloc(link->in, room);
    if (grown == NULL)
        return false;
    link->in = grown;
    link->room = room;
    return true;
}

/* Take every whole frame.  Returns how many bytes the next one needs in all. */
static size_t take_frames(struct hf_zk *zk, hf_time answered)
{
    struct hf_zk_link *link = &zk->link;
    size_t             at = 0;
    long               size;

    while ((size = hf_zk_frame_size(link->in + at, link->used - at)) >= 0) {
        struct hf_zk_reader frame = hf_zk_reader_on(link->in + at + 4, (size_t)size);
        at += 4 + (size_t)size;
        if (link->phase == HF_ZK_GREETING)
            take_greeting(zk, frame, answered);
        else
            take_frame(zk, frame, answered);
        if (link->phase < HF_ZK_GREETING)
            return 0; /* it broke */
    }
    if (size == -2) {
        hf_zk_link_break(zk, "does not speak ZooKeeper's protocol");
        return 0;
    }
    link->used -= at;
    memmove(link->in, link->in + at, link->used);
    return link->used + 1;
}

static void read_frames(struct hf_zk *zk)
{
    struct hf_zk_link *link = &zk->link;
    size_t             need = ROOM_FIRST;

    for (int round = 0; round < 64; round++) {
        if (!make_room(link, need > link->used + 4096 ? need : link->used + 4096)) {
            hf_zk_link_break(zk, "sent more than there is memory for");
            return;
        }
        long n =
            hf_stream_read(&link->stream, link->in + link->used, link->room - link->used);
        if (n < 0) {
            char why[HF_ERRMSG_MAX];
            snprintf(why, sizeof why, "%s: %.180s",
                     link->phase == HF_ZK_GREETING ? "does not take us (has it a quorum?)"
                                                   : "hung up",
                     link->stream.errmsg);
            hf_zk_link_break(zk, why);
            return;
        }
        if (n == 0)
            return;
        link->used += (size_t)n;
        need = take_frames(zk, hf_now());
        if (need == 0)
            return;
    }
    zk->base.wake = 0; /* there may be more */
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

void hf_zk_link_run(struct hf_zk *zk)
{
    struct hf_zk_link *link = &zk->link;

    if (link->phase == HF_ZK_RESTING && zk->now >= link->due)
        try_next(zk);
    if (link->phase == HF_ZK_RESOLVING)
        take_addresses(zk);
    if (link->phase == HF_ZK_REACHING)
        step(zk);
    /* Before the clock is looked at: after a pause it may have been here long. */
    if (link->phase >= HF_ZK_GREETING)
        read_frames(zk);
    if (link->phase != HF_ZK_RESTING && link->phase != HF_ZK_READY &&
        zk->now >= link->due)
        hf_zk_link_break(zk, link->phase == HF_ZK_GREETING
                                 ? "does not answer (has it a quorum?)"
                                 : "does not answer");
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
        zk->beat.spoke = zk->now;
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
