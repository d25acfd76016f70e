/* line_writer.h - writes lines for a reader that may be slow, or gone.
 *
 * Only writer_drain() waits: a holder that waited for its reader could not renew its
 * lock.  Lines that the reader does not take are kept, in order.  If these become too
 * many, the descriptor is closed: the reader finds the end of the file, and never a gap.
 */
#ifndef LINE_WRITER_H
#define LINE_WRITER_H

#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

#define WRITER_LINES    256      /* kept at most */
#define WRITER_LINE_MAX PIPE_BUF /* a pipe takes that much as a whole or not at all */

struct kept_line {
    char    *text; /* ours to free */
    size_t   length;
    unsigned kind;
};

struct line_writer {
    int              fd; /* -1: closed */
    bool             is_socket;
    struct kept_line line[WRITER_LINES];
    size_t           count;
    size_t           written; /* of the first line */
    int              error; /* errno of the write() that failed, and closed it; else 0 */
};

/* A copy of `fd` that can be written to without waiting, which programs that we execute do
 * not inherit: after poll(), by send() with MSG_DONTWAIT if it is a socket, else by write().
 * -1 and errno: it cannot be written to. */
int writer_copy(int fd, bool *is_socket);

/* Write to a copy of `fd`, which programs that we execute do not inherit.  -1 and errno:
 * it cannot be written to. */
int writer_open(struct line_writer *writer, int fd);

/* Write a line, with its '\n'; `text` is the writer's from now on.  A line of a kind
 * other than 0 replaces one of the same kind right before it that was not written yet.
 * False: there were too many lines, and the descriptor was closed. */
bool writer_put(struct line_writer *writer, char *text, size_t length, unsigned kind);

/* For poll().  When more can be written, call writer_flush(). */
struct pollfd writer_poll(const struct line_writer *writer);
void          writer_flush(struct line_writer *writer);

/* Wait until all is written; false: it took longer than that. */
bool writer_drain(struct line_writer *writer, int timeout_ms);

/* Forget the rest; closing it twice is fine. */
void writer_close(struct line_writer *writer);

#endif
