/* query.c - statements, built from trusted text and from values; see wire.h.
 *
 * A text is written in hexadecimal, x'...'.  A quoted text would need escapes, and those
 * depend on sql_mode (NO_BACKSLASH_ESCAPES) and on the connection's character set. */
#include "base/grow.h"
#include "store/mariadb/wire/wire.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUERY_MAX (HF_MY_PACKET_MAX - 1) /* a byte says that it is a query */

/* Room for `size` more bytes; NULL: there is none. */
static char *extend(struct hf_my_query *query, size_t size)
{
    if (query->failed || size > QUERY_MAX - query->used) {
        query->failed = true;
        return NULL;
    }
    char *grown = hf_grow(query->text, &query->room, query->used + size + 1, 1);
    if (grown == NULL) {
        query->failed = true;
        return NULL;
    }
    query->text = grown;
    query->used += size;
    return grown + query->used - size;
}

static void append_bytes(struct hf_my_query *query, const char *data, size_t size)
{
    char *at = extend(query, size);

    if (at != NULL)
        memcpy(at, data, size);
}

static void append(struct hf_my_query *query, const char *text)
{
    append_bytes(query, text, strlen(text));
}

static void separate(struct hf_my_query *query)
{
    if (query->separate)
        append(query, ",");
    query->separate = true;
}

void hf_my_query_begin(struct hf_my_query *query, const char *trusted)
{
    query->used = 0;
    query->failed = false;
    hf_my_query_put(query, trusted);
}

void hf_my_query_put(struct hf_my_query *query, const char *trusted)
{
    append(query, trusted);
    query->separate = false;
}

void hf_my_query_number(struct hf_my_query *query, int64_t number)
{
    char text[24];

    separate(query);
    snprintf(text, sizeof text, "%" PRId64, number);
    append(query, text);
}

void hf_my_query_unsigned(struct hf_my_query *query, uint64_t number)
{
    char text[24];

    separate(query);
    snprintf(text, sizeof text, "%" PRIu64, number);
    append(query, text);
}

void hf_my_query_text(struct hf_my_query *query, const char *text)
{
    if (text != NULL) {
        hf_my_query_bytes(query, text, strlen(text));
    } else {
        separate(query);
        append(query, "NULL");
    }
}

void hf_my_query_bytes(struct hf_my_query *query, const void *data, size_t size)
{
    static const char    digits[] = "0123456789abcdef";
    const unsigned char *byte = data;

    separate(query);
    append(query, "x'");
    char *at = extend(query, size <= QUERY_MAX / 2 ? 2 * size : QUERY_MAX);
    if (at == NULL)
        return;
    for (size_t i = 0; i < size; i++) {
        *at++ = digits[byte[i] >> 4];
        *at++ = digits[byte[i] & 15];
    }
    append(query, "'");
}

void hf_my_query_finish(struct hf_my_query *query)
{
    free(query->text);
    *query = (struct hf_my_query){ .text = NULL };
}
