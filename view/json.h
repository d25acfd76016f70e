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
    bool  comma; /* something stands before on this level */
};

void json_open(struct json *json, const char *key, char bracket);
void json_close(struct json *json, char bracket);

/* What is not UTF-8 becomes U+FFFD.  What text_clean() would not let through is written
 * as \u202e: JSON is read on terminals, too. */
void json_string(struct json *json, const char *key, const char *value);
void json_number(struct json *json, const char *key, int64_t value);
void json_bool(struct json *json, const char *key, bool value);
void json_null(struct json *json, const char *key);

/* Fencing tokens go beyond what a JavaScript number keeps: as a string. */
void json_token(struct json *json, const char *key, uint64_t value);

#endif
