/* sink.c - see sink.h. */
#include "sink.h"

#include "clock.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* A terminal, but not the other end of a pseudo-terminal: to open that anew makes a new
 * pair. */
static bool is_terminal(int fd, const struct stat *what)
{
    return S_ISCHR(what->st_mode) && isatty(fd) && what->st_rdev != makedev(5, 2);
}

/* O_NONBLOCK belongs to what is open, and so to all who have it open: on theirs it must
 * not be set.  A pipe or a terminal can be opened anew, unless it is another user's: then
 * poll() has to do, which is wrong only if somebody else writes to it, too. */
static int open_anew(int fd)
{
    char path[40];

    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

/* What was open when we were executed has no FD_CLOEXEC: one that has it is of ours. */
static bool is_for_writing(int fd)
{
    int flags = fcntl(fd, F_GETFD), mode = fcntl(fd, F_GETFL);

    return flags >= 0 && !(flags & FD_CLOEXEC) && mode >= 0 &&
           (mode & O_ACCMODE) != O_RDONLY;
}

int sink_open(struct sink *sink, int fd)
{
    struct stat what;

    if (!is_for_writing(fd) || fstat(fd, &what) < 0) {
        errno = EBADF;
        return -1;
    }
    *sink = (struct sink){ .fd = -1, .is_socket = S_ISSOCK(what.st_mode) };
    if (S_ISFIFO(what.st_mode) || is_terminal(fd, &what))
        sink->fd = open_anew(fd);
    if (sink->fd < 0)
        sink->fd = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (sink->fd >= 0 && fd > STDERR_FILENO)
        close(fd);
    return sink->fd < 0 ? -1 : 0;
}

void sink_close(struct sink *sink)
{
    for (size_t i = 0; i < sink->count; i++)
        free(sink->line[i].text);
    sink->count = sink->written = 0;
    if (sink->fd >= 0)
        close(sink->fd);
    sink->fd = -1;
}

static void drop_first(struct sink *sink)
{
    assert(sink->count > 0);
    free(sink->line[0].text);
    sink->count--;
    sink->written = 0;
    memmove(&sink->line[0], &sink->line[1], sink->count * sizeof sink->line[0]);
}

/* 1: all of the first line was written; 0: not now; -1 and errno. */
static int write_first(struct sink *sink)
{
    const struct sink_line *line = &sink->line[0];
    const char             *text = line->text + sink->written;
    size_t                  left = line->length - sink->written;
    struct pollfd           on = { .fd = sink->fd, .events = POLLOUT };

    if (poll(&on, 1, 0) == 0)
        return 0;
    ssize_t n = sink->is_socket ? send(sink->fd, text, left, MSG_DONTWAIT | MSG_NOSIGNAL)
                                : write(sink->fd, text, left);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -1;
    sink->written += (size_t)n;
    return sink->written == line->length;
}

void sink_flush(struct sink *sink)
{
    int r = 1;

    while (r > 0 && sink->count > 0)
        if ((r = write_first(sink)) > 0)
            drop_first(sink);
    if (r < 0) {
        sink->error = errno;
        sink_close(sink);
    }
}

bool sink_put(struct sink *sink, char *text, size_t length, unsigned kind)
{
    size_t            begun = sink->written > 0; /* the reader has some of the first */
    struct sink_line *last = sink->count > begun ? &sink->line[sink->count - 1] : NULL;

    assert(length > 0 && length <= SINK_LINE_MAX && text[length - 1] == '\n');
    if (last != NULL && kind != 0 && last->kind == kind) {
        free(last->text);
        sink->count--;
    }
    bool full = sink->count == SINK_LINES;
    if (full || sink->fd < 0) {
        free(text);
        sink_close(sink);
        return !full;
    }
    sink->line[sink->count++] = (struct sink_line){ text, length, kind };
    sink_flush(sink);
    return true;
}

struct pollfd sink_poll(const struct sink *sink)
{
    return (struct pollfd){ .fd = sink->count > 0 ? sink->fd : -1, .events = POLLOUT };
}

bool sink_drain(struct sink *sink, int timeout_ms)
{
    int64_t until = clock_boot_ns() + timeout_ms * NS_PER_MS, left;

    sink_flush(sink);
    while (sink->count > 0 && (left = until - clock_boot_ns()) > 0) {
        struct pollfd on = sink_poll(sink);
        poll(&on, 1, (int)(left / NS_PER_MS + 1));
        sink_flush(sink);
    }
    return sink->count == 0;
}
