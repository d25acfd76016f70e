/* json.h - writes JSON, well-formed by construction.
 *
 *     struct json json = { .out = stdout };
 *     json_open(&json, NULL, '{');
 *     json_string(&json, "name", name);
 *     json_close(&json, '}');
 *
 * `key` is NULL inside arrays and at the top.
 */
#ifndef JSON_H
#define JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json {
    FILE *out;
    bool  comma; /* the next value needs a comma before it */
};

void json_open(struct json *json, const char *key, char bracket);
void json_close(struct json *json, char bracket);

/* Bytes that are not UTF-8 become U+FFFD.  Characters that text_clean() escapes are written as
 * in "\u202e", because JSON is read on terminals, too. */
void json_string(struct json *json, const char *key, const char *value);
void json_number(struct json *json, const char *key, int64_t value);
void json_number_or_null(struct json *json, const char *key,
                         int64_t value); /* < 0: null */
void json_bool(struct json *json, const char *key, bool value);
void json_null(struct json *json, const char *key);

/* As a string: tokens exceed the range of JavaScript's numbers. */
void json_token(struct json *json, const char *key, uint64_t value);

#endif
