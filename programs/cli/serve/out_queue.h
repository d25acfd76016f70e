/* out_queue.h - lines for the program, which may read slowly.
 *
 * Nothing here waits: a helper that waited for its reader could not renew its locks.  And
 * nothing is dropped.  A line about the place of a lock, its deadline or a request for it replaces
 * an older one of the same kind about the same lock that is not written yet.  So the lines that nobody
 * asked for are limited by the number of locks; and no request is read while more than
 * OUT_ENOUGH bytes are queued.
 */
#ifndef OUT_QUEUE_H
#define OUT_QUEUE_H

#include "run/event_line.h"

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#define OUT_ENOUGH (1024 * 1024)

/* A later line of the same kind replaces an unwritten one, except for OUT_SINGLE. */
enum out_kind { OUT_SINGLE, OUT_PLACE, OUT_ASKED, OUT_RENEWED };

struct out_line {
    char            *text; /* ours to free */
    size_t           length;
    enum out_kind    kind;
    int64_t          lock; /* that it is about; 0: all */
    struct out_line *next;
};

struct out_queue {
    int    fd; /* -1: closed */
    bool   is_socket;
    size_t at_once; /* bytes that can be written without waiting, if poll() says so */
    bool   broken;  /* the reader is gone, or memory is */
    struct out_line *first, *last;
    size_t           written; /* of the first */
    size_t           bytes;   /* queued */
    size_t           replaceable;
};

/* Write to a copy of `fd`; -1 and errno. */
int out_open(struct out_queue *out, int fd);

/* End the line and queue it. */
void out_put(struct out_queue *out, struct event_line *line, enum out_kind kind,
             int64_t lock);

/* For poll(); it also reports that the reader is gone. */
struct pollfd out_poll(const struct out_queue *out);
void          out_flush(struct out_queue *out);

/* Wait until all is written, for so long at most. */
void out_drain(struct out_queue *out, int timeout_ms);
void out_close(struct out_queue *out);

#endif
