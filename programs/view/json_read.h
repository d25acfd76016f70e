/* json_read.h - parses one flat JSON object, whose members are known.
 *
 *     char               name[256];
 *     int64_t            weight = 1;
 *     struct json_member member[] = { { "name", JSON_TEXT, name, sizeof name },
 *                                     { "weight", JSON_NUMBER, &weight } };
 *
 *     if (!json_read(text, size, member, 2, JSON_ALONE, error, sizeof error))
 *             complain("%s", error);
 */
#ifndef JSON_READ_H
#define JSON_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum json_type {
    JSON_TEXT,   /* char[size], with a NUL at its end */
    JSON_NUMBER, /* int64_t: 0 or more, a whole number that JavaScript can represent */
    JSON_BOOL,   /* bool */
};

/* A member to read. */
struct json_member {
    const char    *name;
    enum json_type type;
    void          *value; /* untouched if the member is missing or null */
    size_t         size;  /* of a text */
    bool           given; /* json_read() sets it */
};

#define JSON_NUMBER_MAX (((int64_t)1 << 53) - 1)

enum json_others {
    JSON_ALONE,    /* other members are a fault */
    JSON_SKIPPING, /* other members are skipped, if their values are flat */
};

/* False: the text is not such an object; `error` says what is wrong with it.  Then some values may
 * have been read.  Texts must be UTF-8 without U+0000.  A NUL must follow the text. */
bool json_read(const char *text, size_t size, struct json_member *member, size_t members,
               enum json_others others, char *error, size_t error_size);

#endif
