/* out_queue.c - see out_queue.h. */
#include "serve/out_queue.h"

#include "clock.h"
#include "run/line_writer.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define LINES_AT_ONCE 64

int out_open(struct out_queue *out, int fd)
{
    *out = (struct out_queue){ .fd = -1 };
    out->fd = writer_copy(fd, &out->is_socket);
    if (out->fd < 0)
        return -1;
    bool blocks = !out->is_socket && (fcntl(out->fd, F_GETFL) & O_NONBLOCK) == 0;
    out->at_once = blocks ? PIPE_BUF : SIZE_MAX;
    return 0;
}

static void drop_first(struct out_queue *out)
{
    struct out_line *line = out->first;

    assert(line != NULL);
    out->first = line->next;
    if (out->first == NULL)
        out->last = NULL;
    out->bytes -= line->length;
    out->replaceable -= line->kind != OUT_SINGLE;
    out->written = 0;
    free(line->text);
    free(line);
}

/* The line to replace; not one of which the reader has a part already. */
static struct out_line *find_older(struct out_queue *out, enum out_kind kind,
                                   int64_t lock)
{
    struct out_line *line = out->first;

    if (kind == OUT_SINGLE || out->replaceable == 0)
        return NULL;
    if (out->written > 0)
        line = line->next;
    while (line != NULL && (line->kind != kind || line->lock != lock))
        line = line->next;
    return line;
}

static void append(struct out_queue *out, const struct out_line *line)
{
    struct out_line *copy = malloc(sizeof *copy);

    if (copy == NULL) {
        free(line->text);
        out->broken = true; /* a reader that misses a line must not go on */
        return;
    }
    *copy = *line;
    if (out->last != NULL)
        out->last->next = copy;
    else
        out->first = copy;
    out->last = copy;
    out->bytes += copy->length;
    out->replaceable += copy->kind != OUT_SINGLE;
}

void out_put(struct out_queue *out, struct event_line *line, enum out_kind kind,
             int64_t lock)
{
    if (!event_end(line)) {
        out->broken = true;
        return;
    }
    struct out_line *older = find_older(out, kind, lock);
    if (older == NULL) {
        append(out, &(struct out_line){ line->text, line->length, kind, lock, NULL });
        return;
    }
    out->bytes += line->length - older->length;
    free(older->text);
    older->text = line->text;
    older->length = line->length;
}

static ssize_t write_some(const struct out_queue *out)
{
    struct iovec part[LINES_AT_ONCE];
    size_t       count = 0, skip = out->written, room = out->at_once;

    for (struct out_line *line = out->first;
         line != NULL && count < LINES_AT_ONCE && room > 0; line = line->next, skip = 0) {
        size_t rest = line->length - skip, length = rest < room ? rest : room;
        part[count++] = (struct iovec){ line->text + skip, length };
        room -= length;
    }
    struct msghdr message = { .msg_iov = part, .msg_iovlen = count };
    if (out->is_socket)
        return sendmsg(out->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    return writev(out->fd, part, (int)count);
}

/* A pipe that could not be opened again blocks, unless poll() says that there is room: then
 * it takes PIPE_BUF bytes. */
static bool has_room(const struct out_queue *out)
{
    struct pollfd on = { .fd = out->fd, .events = POLLOUT };

    return poll(&on, 1, 0) > 0;
}

void out_flush(struct out_queue *out)
{
    while (out->first != NULL && !out->broken && has_room(out)) {
        ssize_t n = write_some(out);
        if (n < 0) {
            out->broken = errno != EAGAIN && errno != EINTR;
            return;
        }
        for (size_t left = (size_t)n; left > 0;) {
            size_t rest = out->first->length - out->written;
            if (left < rest) {
                out->written += left;
                break;
            }
            left -= rest;
            drop_first(out);
        }
    }
}

struct pollfd out_poll(const struct out_queue *out)
{
    return (struct pollfd){ .fd = out->fd, .events = out->first != NULL ? POLLOUT : 0 };
}

void out_drain(struct out_queue *out, int timeout_ms)
{
    int64_t until = clock_boot_ns() + timeout_ms * NS_PER_MS, left;

    out_flush(out);
    while (out->first != NULL && !out->broken && (left = until - clock_boot_ns()) > 0) {
        struct pollfd on = out_poll(out);
        poll(&on, 1, (int)(left / NS_PER_MS + 1));
        out_flush(out);
    }
}

void out_close(struct out_queue *out)
{
    while (out->first != NULL)
        drop_first(out);
    if (out->fd >= 0)
        close(out->fd);
    out->fd = -1;
}
