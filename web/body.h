/* body.h - reads what a browser sends: one JSON object with strings in it. */
#ifndef BODY_H
#define BODY_H

#include <stdbool.h>
#include <stddef.h>

/* A member that is wanted.  `value` has room for `size` bytes, and stays "" if the member is
 * not there. */
struct field {
    const char *name;
    char       *value;
    size_t      size;
};

/* False: it is no such object, has a member twice, a value that is not a string or is too
 * long, or text that is not UTF-8 or has U+0000.  Members that nobody wants are skipped.
 * Behind the text stands a NUL. */
bool body_read(const char *text, size_t size, const struct field *field, size_t fields);

#endif
