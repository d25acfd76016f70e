/* line_writer.c - see line_writer.h. */
#include "run/line_writer.h"

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

/* A terminal, but not the master of a pseudo-terminal: opening that makes a new pair. */
static bool is_terminal(int fd, const struct stat *what)
{
    return S_ISCHR(what->st_mode) && isatty(fd) && what->st_rdev != makedev(5, 2);
}

/* O_NONBLOCK would be set for all processes that share the open file.  So a pipe or a
 * terminal is opened again.  That fails if it is another user's: then poll() has to do,
 * which errs only if another process writes to it, too. */
static int open_again(int fd)
{
    char path[40];

    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

/* A descriptor that we were started with has no FD_CLOEXEC; one that has it is our
 * own. */
static bool is_for_writing(int fd)
{
    int flags = fcntl(fd, F_GETFD), mode = fcntl(fd, F_GETFL);

    return flags >= 0 && !(flags & FD_CLOEXEC) && mode >= 0 &&
           (mode & O_ACCMODE) != O_RDONLY;
}

int writer_copy(int fd, bool *is_socket)
{
    struct stat what;
    int         copy = -1;

    if (!is_for_writing(fd) || fstat(fd, &what) < 0) {
        errno = EBADF;
        return -1;
    }
    *is_socket = S_ISSOCK(what.st_mode);
    if (S_ISFIFO(what.st_mode) || is_terminal(fd, &what))
        copy = open_again(fd);
    return copy >= 0 ? copy : fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
}

int writer_open(struct line_writer *writer, int fd)
{
    *writer = (struct line_writer){ .fd = -1 };
    writer->fd = writer_copy(fd, &writer->is_socket);
    if (writer->fd >= 0 && fd > STDERR_FILENO)
        close(fd);
    return writer->fd < 0 ? -1 : 0;
}

void writer_close(struct line_writer *writer)
{
    for (size_t i = 0; i < writer->count; i++)
        free(writer->line[i].text);
    writer->count = writer->written = 0;
    if (writer->fd >= 0)
        close(writer->fd);
    writer->fd = -1;
}

static void drop_first(struct line_writer *writer)
{
    assert(writer->count > 0);
    free(writer->line[0].text);
    writer->count--;
    writer->written = 0;
    memmove(&writer->line[0], &writer->line[1], writer->count * sizeof writer->line[0]);
}

/* 1: all of the first line was written; 0: not now; -1 and errno. */
static int write_first(struct line_writer *writer)
{
    const struct kept_line *line = &writer->line[0];
    const char             *text = line->text + writer->written;
    size_t                  left = line->length - writer->written;
    struct pollfd           on = { .fd = writer->fd, .events = POLLOUT };

    if (poll(&on, 1, 0) == 0)
        return 0;
    ssize_t n = writer->is_socket
                    ? send(writer->fd, text, left, MSG_DONTWAIT | MSG_NOSIGNAL)
                    : write(writer->fd, text, left);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -1;
    writer->written += (size_t)n;
    return writer->written == line->length;
}

void writer_flush(struct line_writer *writer)
{
    int r = 1;

    while (r > 0 && writer->count > 0)
        if ((r = write_first(writer)) > 0)
            drop_first(writer);
    if (r < 0) {
        writer->error = errno;
        writer_close(writer);
    }
}

bool writer_put(struct line_writer *writer, char *text, size_t length, unsigned kind)
{
    size_t            begun = writer->written > 0; /* the reader has some of the first */
    struct kept_line *last =
        writer->count > begun ? &writer->line[writer->count - 1] : NULL;

    assert(length > 0 && length <= WRITER_LINE_MAX && text[length - 1] == '\n');
    if (last != NULL && kind != 0 && last->kind == kind) {
        free(last->text);
        writer->count--;
    }
    bool full = writer->count == WRITER_LINES;
    if (full || writer->fd < 0) {
        free(text);
        writer_close(writer);
        return !full;
    }
    writer->line[writer->count++] = (struct kept_line){ text, length, kind };
    writer_flush(writer);
    return true;
}

struct pollfd writer_poll(const struct line_writer *writer)
{
    return (struct pollfd){ .fd = writer->count > 0 ? writer->fd : -1,
                            .events = POLLOUT };
}

bool writer_drain(struct line_writer *writer, int timeout_ms)
{
    int64_t until = clock_boot_ns() + timeout_ms * NS_PER_MS, left;

    writer_flush(writer);
    while (writer->count > 0 && (left = until - clock_boot_ns()) > 0) {
        struct pollfd on = writer_poll(writer);
        poll(&on, 1, (int)(left / NS_PER_MS + 1));
        writer_flush(writer);
    }
    return writer->count == 0;
}
