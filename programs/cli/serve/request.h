/* request.h - a line of the program as a request; docs/serve.md is the protocol. */
#ifndef REQUEST_H
#define REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REQUEST_LINE_MAX 16384 /* without its '\n' */
#define REQUEST_NAME_MAX 1024  /* the library tells which names are too long */
#define REQUEST_TEXT_MAX 1024

enum request_op {
    REQUEST_ACQUIRE,
    REQUEST_RELEASE,
    REQUEST_DOWNGRADE,
    REQUEST_CHECK,
    REQUEST_LIST,
    REQUEST_ASK,
    REQUEST_BREAK,
    REQUEST_STATS,
};

enum request_kind { KIND_MUTEX, KIND_READER, KIND_WRITER, KIND_SEMAPHORE, KIND_CLAIM };

struct request {
    int64_t           id;
    enum request_op   op;
    int64_t           lock;                   /* 0: not given */
    bool              has_name;               /* list: may be false */
    char              name[REQUEST_NAME_MAX]; /* "": not given */
    uint64_t          token;                  /* 0: not given */
    char              text[REQUEST_TEXT_MAX]; /* acquire: note; ask: reason */
    bool              has_text;
    enum request_kind kind;
    int64_t           slots, weight; /* 0: not given */
    int64_t           max_waiters;
    int64_t           timeout_ms; /* negative: for ever */
    bool              place;      /* acquire: report each change of the place */
};

/* Parse a line; a NUL must follow it.  False: `error` says what is wrong, and the id is 0 if even
 * that could not be read. */
bool request_read(const char *line, size_t size, struct request *ret, char *error,
                  size_t error_size);

#endif
