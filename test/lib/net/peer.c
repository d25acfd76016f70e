/* peer.c - see peer.h. */
#include "lib/net/peer.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#define PATIENCE 10000        /* ms */
#define BURST    (512 * 1024) /* more than a socket takes */

bool peer_listen(struct peer *peer, int family)
{
    const char *folder = getenv("TMPDIR");

    *peer = (struct peer){ .listener = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0) };
    if (peer->listener < 0)
        return false;
    peer->at.ss_family = (sa_family_t)family;
    if (family == AF_INET) {
        ((struct sockaddr_in *)&peer->at)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        peer->length = sizeof(struct sockaddr_in);
    } else if (family == AF_INET6) {
        ((struct sockaddr_in6 *)&peer->at)->sin6_addr = in6addr_loopback;
        peer->length = sizeof(struct sockaddr_in6);
    } else {
        struct sockaddr_un *at = (struct sockaddr_un *)&peer->at;

        snprintf(at->sun_path, sizeof at->sun_path, "%s/peer.%d",
                 folder != NULL ? folder : "/tmp", (int)getpid());
        peer->length = sizeof *at;
    }
    if (bind(peer->listener, (struct sockaddr *)&peer->at, peer->length) < 0) {
        close(peer->listener);
        return false;
    }
    if (family != AF_UNIX)
        assert_int_equal(getsockname(peer->listener, (struct sockaddr *)&peer->at,
                                     &peer->length),
                         0);
    assert_int_equal(listen(peer->listener, 8), 0);
    return true;
}

static void *serve(void *data)
{
    struct peer *peer = data;
    int          fd;
    sigset_t     pipe;

    sigemptyset(&pipe); /* only our own end must do without the signal */
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, NULL);
    fd = accept4(peer->listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd >= 0) {
        peer->talk(fd, peer->data);
        close(fd);
    }
    return NULL;
}

void peer_serve(struct peer *peer, void (*talk)(int fd, void *data), void *data)
{
    peer->talk = talk;
    peer->data = data;
    assert_int_equal(pthread_create(&peer->thread, NULL, serve, peer), 0);
}

void peer_close(struct peer *peer)
{
    close(peer->listener);
    if (peer->at.ss_family == AF_UNIX)
        unlink(((struct sockaddr_un *)&peer->at)->sun_path);
}

void peer_finish(struct peer *peer)
{
    assert_int_equal(pthread_join(peer->thread, NULL), 0);
    peer_close(peer);
}

bool peer_write(int fd, const void *data, size_t size)
{
    const char *at = data;

    while (size > 0) {
        ssize_t n = send(fd, at, size, MSG_NOSIGNAL);

        if (n <= 0)
            return false;
        at += n;
        size -= (size_t)n;
    }
    return true;
}

void peer_echo(int fd, void *data)
{
    char    buffer[5000];
    ssize_t n;

    (void)data;
    while ((n = recv(fd, buffer, sizeof buffer, 0)) > 0)
        if (!peer_write(fd, buffer, (size_t)n))
            break;
}

/* ---- Our own end --------------------------------------------------------------- */

bool stream_wait(const struct hf_stream *stream)
{
    /* EPOLLIN and EPOLLOUT are POLLIN and POLLOUT. */
    struct pollfd poller = { .fd = stream->fd,
                             .events = (short)hf_stream_events(stream) };

    return poll(&poller, 1, PATIENCE) > 0;
}

enum hf_stream_state stream_settle(struct hf_stream *stream)
{
    while (stream->state == HF_STREAM_CONNECTING || stream->state == HF_STREAM_SHAKING) {
        assert_true(stream_wait(stream));
        hf_stream_step(stream);
    }
    return stream->state;
}

void stream_send(struct hf_stream *stream, const void *data, size_t size)
{
    void *place = hf_stream_append(stream, size);

    assert_non_null(place);
    memcpy(place, data, size);
    hf_stream_flush(stream);
}

size_t stream_receive(struct hf_stream *stream, void *ret, size_t size)
{
    size_t got = 0;

    while (got < size) {
        long n = hf_stream_read(stream, (char *)ret + got, size - got);

        if (n < 0)
            break;
        if (n == 0)
            assert_true(stream_wait(stream));
        got += (size_t)n;
    }
    return got;
}

static unsigned char pattern(size_t at)
{
    return (unsigned char)((at * 2654435761u) >> 13);
}

static void append_piece(struct hf_stream *stream, size_t at, size_t size)
{
    unsigned char *place = hf_stream_append(stream, size);

    assert_non_null(place);
    for (size_t i = 0; i < size; i++)
        place[i] = pattern(at + i);
}

int stream_echo(struct hf_stream *stream, size_t size)
{
    static unsigned char buffer[30000];
    size_t               sent = 0, got = 0;
    int                  partial = 0;

    while (got < size) {
        long n;

        while (stream->used - stream->done < BURST && sent < size) {
            size_t piece = 1 + sent * 7919 % 20011;

            piece = piece < size - sent ? piece : size - sent;
            append_piece(stream, sent, piece);
            sent += piece;
        }
        hf_stream_flush(stream);
        partial += stream->used > stream->done;
        while ((n = hf_stream_read(stream, buffer, sizeof buffer)) > 0) {
            for (long i = 0; i < n; i++)
                if (buffer[i] != pattern(got + (size_t)i))
                    fail_msg("byte %zu is wrong", got + (size_t)i);
            got += (size_t)n;
        }
        if (n < 0)
            fail_msg("after %zu bytes: %s", got, stream->errmsg);
        if (got < sent)
            assert_true(stream_wait(stream));
    }
    return partial;
}
