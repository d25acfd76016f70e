/* stream.c - see stream.h. */
#include "net/stream.h"

#include "base/fork.h"
#include "net/secure.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define ROOM_FIRST 1024
#define ROOM_KEPT  (256 * 1024)  /* a larger buffer is freed once it is empty */
#define DRAIN_MAX  (1024 * 1024) /* read at most, before closing */

/* ---- Messages ---------------------------------------------------------------- */

void hf_stream_break(struct hf_stream *stream, const char *why)
{
    if (why != NULL)
        snprintf(stream->errmsg, sizeof stream->errmsg, "%s", why);
    stream->state = HF_STREAM_BROKEN;
}

/* "Connection refused" in the middle of a sentence. */
static void explain(struct hf_stream *stream, int error)
{
    const char *text = strerrordesc_np(error);

    snprintf(stream->errmsg, sizeof stream->errmsg, "%s",
             text != NULL ? text : "unknown error");
    if (islower((unsigned char)stream->errmsg[1]))
        stream->errmsg[0] = (char)tolower((unsigned char)stream->errmsg[0]);
}

static void break_by(struct hf_stream *stream, int error)
{
    explain(stream, error);
    hf_stream_break(stream, NULL);
}

/* ---- Connecting --------------------------------------------------------------- */

/* If nobody listens on a local port, the kernel may pick the same port for our own end:
 * then TCP connects us to ourselves. */
static bool to_itself(int fd)
{
    struct sockaddr_storage here = { 0 }, there = { 0 };
    socklen_t               here_length = sizeof here, there_length = sizeof there;

    return getsockname(fd, (struct sockaddr *)&here, &here_length) == 0 &&
           (here.ss_family == AF_INET || here.ss_family == AF_INET6) &&
           getpeername(fd, (struct sockaddr *)&there, &there_length) == 0 &&
           here_length == there_length && memcmp(&here, &there, here_length) == 0;
}

static void connected(struct hf_stream *stream)
{
    assert(stream->state == HF_STREAM_CONNECTING);
    if (to_itself(stream->fd)) {
        break_by(stream, ECONNREFUSED);
    } else if (stream->ssl == NULL) {
        stream->state = HF_STREAM_OPEN;
    } else {
        stream->state = HF_STREAM_SHAKING;
        hf_secure_step(stream);
    }
}

static void start(struct hf_stream *stream, const struct sockaddr *address,
                  socklen_t length)
{
    int on = 1;

    if (address->sa_family != AF_UNIX)
        setsockopt(stream->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(stream->fd, address, length) == 0)
        connected(stream);
    else if (errno == EAGAIN) /* a Unix socket never connects later */
        hf_stream_break(stream, "too many connections wait to be accepted");
    else if (errno != EINPROGRESS && errno != EINTR)
        break_by(stream, errno);
}

void hf_stream_open(struct hf_stream *stream, const struct sockaddr *address,
                    socklen_t length, struct hf_tls *tls, const char *host)
{
    assert(tls == NULL || host != NULL);
    *stream = (struct hf_stream){ .state = HF_STREAM_CONNECTING,
                                  .generation = hf_fork_generation() };
    hf_fork_pause();
    stream->fd = hf_fork_adopt(
        socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (stream->fd < 0) {
        break_by(stream, errno);
        return;
    }
    if (tls != NULL)
        hf_secure_begin(stream, tls, host);
    if (stream->state == HF_STREAM_CONNECTING)
        start(stream, address, length);
}

/* SO_ERROR is also 0 while the connection is still pending. */
static bool is_decided(int fd)
{
    struct pollfd poller = { .fd = fd, .events = POLLOUT };

    return poll(&poller, 1, 0) > 0;
}

void hf_stream_step(struct hf_stream *stream)
{
    int       error = 0;
    socklen_t size = sizeof error;

    if (stream->state == HF_STREAM_SHAKING)
        hf_secure_step(stream);
    if (stream->state != HF_STREAM_CONNECTING || !is_decided(stream->fd))
        return;
    if (getsockopt(stream->fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
        error = errno;
    if (error != 0)
        break_by(stream, error);
    else
        connected(stream);
}

void hf_stream_secure(struct hf_stream *stream, struct hf_tls *tls, const char *host)
{
    assert(stream->state == HF_STREAM_OPEN && stream->ssl == NULL);
    assert(stream->used == stream->done);
    hf_secure_begin(stream, tls, host);
    if (stream->state == HF_STREAM_BROKEN)
        return;
    stream->state = HF_STREAM_SHAKING;
    hf_secure_step(stream);
}

unsigned hf_stream_events(const struct hf_stream *stream)
{
    unsigned write = stream->want_write ? EPOLLOUT : 0;

    switch (stream->state) {
    case HF_STREAM_CONNECTING:
        return EPOLLOUT;
    case HF_STREAM_SHAKING:
        return write != 0 ? write : EPOLLIN;
    case HF_STREAM_OPEN:
        return EPOLLIN | write | (stream->used > stream->done ? EPOLLOUT : 0);
    case HF_STREAM_BROKEN:
        break;
    }
    return 0;
}

/* ---- The socket --------------------------------------------------------------- */

long hf_stream_recv(struct hf_stream *stream, void *ret, size_t size)
{
    ssize_t n;

    do
        n = recv(stream->fd, ret, size, 0);
    while (n < 0 && errno == EINTR);
    if (n > 0)
        return n;
    if (n < 0 && errno == EAGAIN && !stream->mute)
        return 0;
    if (n < 0 && errno != EAGAIN && errno != ENOTCONN)
        explain(stream, errno);
    else if (stream->errmsg[0] == '\0')
        snprintf(stream->errmsg, sizeof stream->errmsg,
                 "the server closed the connection");
    return -1;
}

long hf_stream_send(struct hf_stream *stream, const void *data, size_t size)
{
    ssize_t n;

    if (stream->mute)
        return (long)size;
    do
        n = send(stream->fd, data, size, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    if (n >= 0)
        return n;
    if (errno == EAGAIN)
        return 0;
    if (errno != EPIPE) /* reading will give a better reason */
        explain(stream, errno);
    if (errno != EPIPE && errno != ECONNRESET)
        return -1;
    stream->mute = true;
    return (long)size;
}

/* ---- Bytes in and out --------------------------------------------------------- */

long hf_stream_read(struct hf_stream *stream, void *ret, size_t size)
{
    long n;

    if (stream->state == HF_STREAM_BROKEN)
        return -1;
    if (stream->state != HF_STREAM_OPEN || size == 0)
        return 0;
    n = stream->ssl != NULL ? hf_secure_recv(stream, ret, size)
                            : hf_stream_recv(stream, ret, size);
    if (n < 0)
        hf_stream_break(stream, NULL);
    return n;
}

/* Make room for `size` more bytes.  Bytes are moved only if at least as many were sent
 * before them, and the buffer doubles, so the cost per byte is constant. */
static bool make_room(struct hf_stream *stream, size_t size)
{
    size_t         left = stream->used - stream->done, room = stream->room;
    unsigned char *grown;

    if (stream->done >= left && room >= size && left <= room - size) {
        if (left > 0)
            memmove(stream->out, stream->out + stream->done, left);
        stream->used = left;
        stream->done = 0;
        return true;
    }
    if (room > SIZE_MAX / 2 || size > SIZE_MAX - stream->used)
        return false;
    room = room == 0 ? ROOM_FIRST : room * 2;
    if (room < stream->used + size)
        room = stream->used + size;
    grown = realloc(stream->out, room);
    if (grown == NULL)
        return false;
    stream->out = grown;
    stream->room = room;
    return true;
}

void *hf_stream_append(struct hf_stream *stream, size_t size)
{
    unsigned char *place;

    assert(size > 0);
    if (stream->room - stream->used < size && !make_room(stream, size))
        return NULL;
    place = stream->out + stream->used;
    stream->used += size;
    return place;
}

void hf_stream_flush(struct hf_stream *stream)
{
    long n = 1;

    /* TLS takes one record at a time.  A plain socket that takes less than offered is
     * full: no need for a second call. */
    while (stream->state == HF_STREAM_OPEN && stream->used > stream->done && n > 0) {
        const unsigned char *data = stream->out + stream->done;
        size_t               left = stream->used - stream->done;

        n = stream->ssl != NULL ? hf_secure_send(stream, data, left)
                                : hf_stream_send(stream, data, left);
        if (n > 0)
            stream->done += (size_t)n;
        if (n < 0)
            hf_stream_break(stream, NULL);
        if (stream->ssl == NULL)
            break;
    }
    if (stream->done < stream->used)
        return;
    stream->done = stream->used = 0;
    if (stream->room > ROOM_KEPT) {
        free(stream->out);
        stream->out = NULL;
        stream->room = 0;
    }
}

/* ---- Closing ------------------------------------------------------------------ */

/* Closing a socket with unread input resets it, and the last bytes we sent may be lost.
 */
static void hang_up(struct hf_stream *stream)
{
    char    rest[4096];
    ssize_t n;
    size_t  drained = 0;

    if (stream->state == HF_STREAM_OPEN) {
        hf_stream_flush(stream);
        if (stream->ssl != NULL)
            hf_secure_end(stream);
    }
    if (stream->state != HF_STREAM_CONNECTING) {
        shutdown(stream->fd, SHUT_WR);
        do {
            n = recv(stream->fd, rest, sizeof rest, 0);
            drained += n > 0 ? (size_t)n : 0;
        } while ((n > 0 && drained < DRAIN_MAX) || (n < 0 && errno == EINTR));
    }
    hf_fork_close(stream->fd);
}

void hf_stream_close(struct hf_stream *stream)
{
    if (stream->fd >= 0 && stream->generation == hf_fork_generation())
        hang_up(stream);
    if (stream->ssl != NULL) /* else OpenSSL may not be loaded */
        SSL_free(stream->ssl);
    stream->ssl = NULL;
    free(stream->out);
    stream->out = NULL;
    stream->done = stream->used = stream->room = 0;
    stream->fd = -1;
    stream->state = HF_STREAM_BROKEN;
}
