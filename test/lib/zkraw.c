/* zkraw.c - see zkraw.h. */
#include "lib/zkraw.h"

#include <arpa/inet.h>
#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int zkraw_connect(const char *address)
{
    struct sockaddr_in at = { .sin_family = AF_INET };
    char               host[16];
    unsigned           port;

    int fields = sscanf(address, "%15[0-9.]:%u", host, &port);
    assert(fields == 2);
    at.sin_port = htons((uint16_t)port);
    inet_pton(AF_INET, host, &at.sin_addr);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (struct sockaddr *)&at, sizeof at) == 0)
        return fd;
    close(fd);
    return -1;
}

/* ---- Frames ---------------------------------------------------------------------- */

void zkraw_put_int(struct zkraw *raw, int32_t value)
{
    uint32_t big = htobe32((uint32_t)value);

    assert(raw->size + sizeof big <= sizeof raw->frame);
    memcpy(raw->frame + raw->size, &big, sizeof big);
    raw->size += sizeof big;
}

void zkraw_put_text(struct zkraw *raw, const char *text)
{
    size_t length = strlen(text);

    zkraw_put_int(raw, (int32_t)length);
    assert(raw->size + length <= sizeof raw->frame);
    memcpy(raw->frame + raw->size, text, length);
    raw->size += length;
}

static void begin(struct zkraw *raw, int32_t xid, int32_t opcode)
{
    raw->size = 0;
    zkraw_put_int(raw, xid);
    zkraw_put_int(raw, opcode);
}

/* If the peer has closed, receiving will fail. */
static void send_frame(struct zkraw *raw)
{
    unsigned char bytes[4 + sizeof raw->frame];
    uint32_t      big = htobe32((uint32_t)raw->size);

    memcpy(bytes, &big, 4);
    memcpy(bytes + 4, raw->frame, raw->size);
    (void)!send(raw->fd, bytes, raw->size + 4, MSG_NOSIGNAL);
}

void zkraw_send(struct zkraw *raw, int32_t xid, int32_t opcode)
{
    begin(raw, xid, opcode);
    send_frame(raw);
}

bool zkraw_receive_bytes(struct zkraw *raw, void *to, size_t size, int ms)
{
    struct pollfd pfd = { .fd = raw->fd, .events = POLLIN };

    for (size_t n = 0; n < size;) {
        if (poll(&pfd, 1, ms) <= 0)
            return false;
        ssize_t r = recv(raw->fd, (char *)to + n, size - n, 0);
        if (r <= 0)
            return false;
        n += (size_t)r;
    }
    return true;
}

bool zkraw_receive(struct zkraw *raw, int ms)
{
    uint32_t big;

    if (!zkraw_receive_bytes(raw, &big, sizeof big, ms))
        return false;
    raw->size = be32toh(big);
    assert(raw->size <= sizeof raw->frame);
    return zkraw_receive_bytes(raw, raw->frame, raw->size, ZKRAW_LIMIT_MS);
}

int32_t zkraw_int(const struct zkraw *raw, size_t at)
{
    uint32_t big;

    assert(at + sizeof big <= raw->size);
    memcpy(&big, raw->frame + at, sizeof big);
    return (int32_t)be32toh(big);
}

bool zkraw_is_over(struct zkraw *raw)
{
    char    byte;
    ssize_t n = recv(raw->fd, &byte, 1, MSG_DONTWAIT);

    return n == 0 || (n < 0 && errno != EAGAIN);
}

/* ---- Requests -------------------------------------------------------------------- */

bool zkraw_open(struct zkraw *raw, const char *address, int session_ms)
{
    *raw = (struct zkraw){ .fd = zkraw_connect(address) };
    if (raw->fd < 0)
        return false;
    for (int i = 0; i < 3; i++)
        zkraw_put_int(raw, 0); /* version, last zxid */
    zkraw_put_int(raw, session_ms);
    zkraw_put_int(raw, 0);
    zkraw_put_int(raw, 0); /* no session yet */
    zkraw_put_int(raw, 16);
    raw->size += 16 + 1; /* and no password; not read-only */
    send_frame(raw);
    return zkraw_receive(raw, ZKRAW_LIMIT_MS);
}

void zkraw_close(struct zkraw *raw)
{
    zkraw_send(raw, ++raw->xid, ZKRAW_CLOSE);
    zkraw_receive(raw, ZKRAW_LIMIT_MS);
    close(raw->fd);
}

void zkraw_send_create(struct zkraw *raw, const char *path)
{
    begin(raw, ++raw->xid, ZKRAW_CREATE);
    zkraw_put_text(raw, path);
    zkraw_put_text(raw, "data");
    zkraw_put_int(raw, 1);
    zkraw_put_int(raw, 31); /* all rights */
    zkraw_put_text(raw, "world");
    zkraw_put_text(raw, "anyone");
    zkraw_put_int(raw, 0);
    send_frame(raw);
}

int32_t zkraw_create(struct zkraw *raw, const char *path)
{
    zkraw_send_create(raw, path);
    bool answered = zkraw_receive(raw, ZKRAW_LIMIT_MS);
    assert(answered && zkraw_int(raw, 0) == raw->xid);
    return zkraw_int(raw, 12);
}

bool zkraw_is_there(const char *address, const char *folder, const char *name)
{
    struct zkraw raw;

    bool opened = zkraw_open(&raw, address, 4000);
    assert(opened);
    begin(&raw, ++raw.xid, ZKRAW_CHILDREN);
    zkraw_put_text(&raw, folder);
    raw.frame[raw.size++] = 0; /* no watch */
    send_frame(&raw);
    bool answered = zkraw_receive(&raw, ZKRAW_LIMIT_MS);
    assert(answered && zkraw_int(&raw, 12) == 0);
    bool   there = false;
    size_t at = 20;
    for (int32_t n = zkraw_int(&raw, 16); n > 0; n--) {
        size_t size = (size_t)zkraw_int(&raw, at);
        there = there ||
                (size == strlen(name) && memcmp(raw.frame + at + 4, name, size) == 0);
        at += 4 + size;
    }
    zkraw_close(&raw);
    return there;
}
