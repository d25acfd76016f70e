/* serve_input.c - requests from stdin. */
#include "serve/serve.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool is_paused(const struct serve *serve)
{
    return serve->out.bytes >= OUT_ENOUGH;
}

struct pollfd input_poll(const struct serve *serve)
{
    return (struct pollfd){ .fd = STDIN_FILENO,
                            .events = is_paused(serve) ? POLLRDHUP : POLLIN };
}

static void carry_out(struct serve *serve, const struct request *request)
{
    switch (request->op) {
    case REQUEST_ACQUIRE:
        lock_acquire(serve, request);
        break;
    case REQUEST_RELEASE:
        lock_release(serve, request);
        break;
    case REQUEST_DOWNGRADE:
    case REQUEST_CHECK:
    case REQUEST_LIST:
    case REQUEST_ASK:
    case REQUEST_BREAK:
        lock_question(serve, request);
        break;
    case REQUEST_STATS:
        answer_stats(serve, request->id);
        break;
    }
}

/* An empty line is none: people press Enter. */
static void end_line(struct serve *serve)
{
    struct request request = { 0 };
    char           error[256];

    serve->line[serve->length] = '\0';
    if (serve->too_long) { /* its beginning tells the id: the caller waits for that */
        (void)request_read(serve->line, serve->length, &request, error, sizeof error);
        snprintf(error, sizeof error, "the line is longer than %d bytes; ignored it",
                 REQUEST_LINE_MAX);
        answer_failed(serve, request.id, HF_EINVAL, error);
    } else if (strspn(serve->line, " \t\r") == serve->length) {
        ;
    } else if (request_read(serve->line, serve->length, &request, error, sizeof error)) {
        carry_out(serve, &request);
    } else {
        answer_failed(serve, request.id, HF_EINVAL, error);
    }
    serve->length = 0;
    serve->too_long = false;
}

static void take_bytes(struct serve *serve, const char *bytes, size_t size)
{
    while (size > 0) {
        const char *end = memchr(bytes, '\n', size);
        size_t      part = end != NULL ? (size_t)(end - bytes) : size;
        size_t      room = REQUEST_LINE_MAX - serve->length;

        serve->too_long |= part > room;
        memcpy(serve->line + serve->length, bytes, part < room ? part : room);
        serve->length += part < room ? part : room;
        if (end == NULL)
            return;
        end_line(serve);
        bytes = end + 1;
        size -= part + 1;
    }
}

/* What comes after the last '\n' may be half a request, and is not carried out. */
void input_read(struct serve *serve, short events)
{
    char bytes[65536];

    if (is_paused(serve)) {
        serve->ended |= (events & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
        return;
    }
    if (events == 0)
        return;
    ssize_t n = read(STDIN_FILENO, bytes, sizeof bytes);
    if (n > 0)
        take_bytes(serve, bytes, (size_t)n);
    else
        serve->ended |= n == 0 || (errno != EINTR && errno != EAGAIN);
}
