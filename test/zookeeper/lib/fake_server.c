/* fake_server.c - see fake_server.h. */
#include "fake_server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <endian.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PING = 11 };

void fake_put(unsigned char **at, uint64_t value, int size)
{
    for (int i = size; i-- > 0; value >>= 8)
        (*at)[i] = (unsigned char)value;
    *at += size;
}

bool fake_say(int fd, const void *bytes, size_t size)
{
    return send(fd, bytes, size, MSG_NOSIGNAL) == (ssize_t)size;
}

bool fake_welcome_with(int fd, int32_t timeout, int64_t session)
{
    unsigned char bytes[64] = { 0 }, *at = bytes;

    fake_put(&at, 4 + 4 + 8 + 4 + 16 + 1, 4);
    fake_put(&at, 0, 4);
    fake_put(&at, (uint32_t)timeout, 4);
    fake_put(&at, (uint64_t)session, 8);
    fake_put(&at, 16, 4);
    return fake_say(fd, bytes, 4 + 37);
}

bool fake_welcome(int fd)
{
    return fake_welcome_with(fd, 4000, FAKE_SESSION);
}

bool fake_reply(int fd, int32_t xid, int32_t error, const void *body, size_t size)
{
    unsigned char bytes[1024], *at = bytes;

    assert_true(size <= sizeof bytes - 20);
    fake_put(&at, 16 + size, 4);
    fake_put(&at, (uint32_t)xid, 4);
    fake_put(&at, 1, 8);
    fake_put(&at, (uint32_t)error, 4);
    if (size > 0)
        memcpy(at, body, size);
    return fake_say(fd, bytes, 20 + size);
}

int32_t fake_int(const unsigned char *frame, size_t at)
{
    uint32_t big;

    memcpy(&big, frame + at, sizeof big);
    return (int32_t)be32toh(big);
}

static bool receive(int fd, void *to, size_t size)
{
    for (size_t n = 0; n < size;) {
        ssize_t r = recv(fd, (char *)to + n, size - n, 0);
        if (r <= 0)
            return false;
        n += (size_t)r;
    }
    return true;
}

static void serve(struct fake *fake, int fd)
{
    unsigned char frame[65536];
    uint32_t      size;
    bool          greeted = false;

    while (receive(fd, &size, 4)) {
        size = be32toh(size);
        if (size > sizeof frame || !receive(fd, frame, size))
            break;
        fake->requests += greeted;
        if (greeted && fake_int(frame, 4) == PING) {
            if (!fake_reply(fd, -2, 0, NULL, 0))
                break;
        } else if (!(greeted ? fake->answer(fd, frame, size) : fake->greet(fd))) {
            break;
        }
        greeted = true;
    }
    close(fd);
}

static void *run(void *data)
{
    struct fake *fake = data;

    for (int fd; (fd = accept(fake->listener, NULL, NULL)) >= 0 && !fake->ending;) {
        /* A client that only waits must not block us. */
        struct timeval patience = { .tv_sec = 3 };
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        fake->connections++;
        serve(fake, fd);
    }
    return NULL;
}

void fake_start(struct fake *fake)
{
    struct sockaddr_in at = { .sin_family = AF_INET };
    socklen_t          length = sizeof at;

    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    fake->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fake->listener, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(fake->listener, 16), 0);
    getsockname(fake->listener, (struct sockaddr *)&at, &length);
    snprintf(fake->url, sizeof fake->url, "zk://127.0.0.1:%u", ntohs(at.sin_port));
    assert_int_equal(pthread_create(&fake->thread, NULL, run, fake), 0);
}

void fake_stop(struct fake *fake)
{
    fake->ending = true;
    shutdown(fake->listener, SHUT_RDWR);
    pthread_join(fake->thread, NULL);
    close(fake->listener);
}
