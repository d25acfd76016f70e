/* sink.h - lines for a reader that may be slow, or gone.
 *
 * Nothing here waits, but for sink_drain(): a holder that waited for its reader would
 * not renew its lock meanwhile.  What the reader does not take now is kept, in order.  If
 * that becomes too much the reader counts as gone: it finds the end of the file, and
 * never a gap.
 */
#ifndef SINK_H
#define SINK_H

#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

#define SINK_LINES    256      /* kept at most */
#define SINK_LINE_MAX PIPE_BUF /* a pipe takes that much as a whole or not at all */

struct sink_line {
    char    *text; /* ours to free */
    size_t   length;
    unsigned kind;
};

struct sink {
    int              fd; /* -1: closed */
    bool             is_socket;
    struct sink_line line[SINK_LINES];
    size_t           count;
    size_t           written; /* of the first line */
    int error; /* errno: why it was closed; 0: it was not written to in vain */
};

/* Write to a copy of `fd`, which the programs that we execute do not get.  -1 and errno:
 * it is not one to write to. */
int sink_open(struct sink *sink, int fd);

/* A line, with its '\n'; `text` is the sink's from now on.  One of a kind other than 0
 * takes the place of one of the same kind right before it that the reader has not got.
 * False: there were too many, and it was closed. */
bool sink_put(struct sink *sink, char *text, size_t length, unsigned kind);

/* For poll(): whether more can be written.  Then call sink_flush(). */
struct pollfd sink_poll(const struct sink *sink);
void          sink_flush(struct sink *sink);

/* Wait so long at most until the reader has all; false: it has not. */
bool sink_drain(struct sink *sink, int timeout_ms);

/* Forget the rest; closing it twice is fine. */
void sink_close(struct sink *sink);

#endif
