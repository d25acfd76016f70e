/* body.h - parses the body of a request: one JSON object whose values are strings. */
#ifndef BODY_H
#define BODY_H

#include <stdbool.h>
#include <stddef.h>

/* A member to read.  `value` has room for `size` bytes, and stays "" if the member is missing. */
struct field {
    const char *name;
    char       *value;
    size_t      size;
};

/* False: the text is not such an object, has a member twice, has a value that is not a string or is
 * too long, or is not UTF-8 or has U+0000.  Other members are skipped.  A NUL must follow the text. */
bool body_read(const char *text, size_t size, const struct field *field, size_t fields);

#endif
