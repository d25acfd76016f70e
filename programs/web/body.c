/* body.c - see body.h. */
#include "body.h"

#include "text.h"

#include <stdint.h>
#include <string.h>

struct reader {
    const char *at, *end;
};

static void skip_space(struct reader *reader)
{
    while (reader->at < reader->end && *reader->at != '\0' &&
           strchr(" \t\r\n", *reader->at) != NULL)
        reader->at++;
}

static bool take(struct reader *reader, char wanted)
{
    skip_space(reader);
    if (reader->at == reader->end || *reader->at != wanted)
        return false;
    reader->at++;
    return true;
}

static bool put(char *out, size_t size, size_t *used, const char *bytes, size_t count)
{
    if (*used + count >= size)
        return false;
    memcpy(out + *used, bytes, count);
    *used += count;
    out[*used] = '\0';
    return true;
}

/* The four digits of \u. */
static bool read_hex(struct reader *reader, uint32_t *ret)
{
    uint32_t value = 0;

    if (reader->end - reader->at < 4)
        return false;
    for (int i = 0; i < 4; i++) {
        char        c = *reader->at++;
        const char *digits = "0123456789abcdef0123456789ABCDEF";
        const char *digit = c != '\0' ? strchr(digits, c) : NULL;
        if (digit == NULL)
            return false;
        value = value << 4 | (uint32_t)((digit - digits) % 16);
    }
    *ret = value;
    return true;
}

/* The digits after \u; a character above 0xffff is two of these. */
static bool read_character(struct reader *reader, uint32_t *ret)
{
    uint32_t high, low;

    if (!read_hex(reader, &high) || high == 0 || (high >= 0xdc00 && high <= 0xdfff))
        return false;
    *ret = high;
    if (high < 0xd800 || high > 0xdbff)
        return true;
    if (reader->end - reader->at < 2 || reader->at[0] != '\\' || reader->at[1] != 'u')
        return false;
    reader->at += 2;
    if (!read_hex(reader, &low) || low < 0xdc00 || low > 0xdfff)
        return false;
    *ret = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
    return true;
}

static bool read_escape(struct reader *reader, char bytes[4], size_t *count)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    uint32_t          character;

    if (reader->at == reader->end || *reader->at == '\0')
        return false;
    char c = *reader->at++;
    if (c == 'u') {
        if (!read_character(reader, &character))
            return false;
        *count = text_encode(bytes, character);
        return true;
    }
    const char *found = strchr(from, c);
    if (found == NULL)
        return false;
    bytes[0] = to[found - from];
    *count = 1;
    return true;
}

/* `out` NULL: skip it. */
static bool read_string(struct reader *reader, char *out, size_t size)
{
    size_t used = 0;

    if (!take(reader, '"'))
        return false;
    while (reader->at < reader->end && *reader->at != '"') {
        char   bytes[4];
        size_t count;
        if (*reader->at == '\\') {
            reader->at++;
            if (!read_escape(reader, bytes, &count))
                return false;
        } else {
            count = text_utf8(reader->at); /* also 0 at the NUL after the end */
            if (count == 0 || (unsigned char)*reader->at < 0x20)
                return false;
            memcpy(bytes, reader->at, count);
            reader->at += count;
        }
        if (out != NULL && !put(out, size, &used, bytes, count))
            return false;
    }
    return take(reader, '"');
}

static bool read_member(struct reader *reader, const struct field *field, size_t fields,
                        unsigned *seen)
{
    char name[32] = "";

    if (!read_string(reader, name, sizeof name) || !take(reader, ':'))
        return false;
    for (size_t i = 0; i < fields; i++) {
        if (strcmp(name, field[i].name) != 0)
            continue;
        if ((*seen & 1u << i) != 0)
            return false;
        *seen |= 1u << i;
        return read_string(reader, field[i].value, field[i].size);
    }
    return read_string(reader, NULL, 0);
}

bool body_read(const char *text, size_t size, const struct field *field, size_t fields)
{
    struct reader reader = { text, text + size };
    unsigned      seen = 0;

    for (size_t i = 0; i < fields; i++)
        field[i].value[0] = '\0';
    if (!take(&reader, '{'))
        return false;
    if (!take(&reader, '}')) {
        do {
            if (!read_member(&reader, field, fields, &seen))
                return false;
        } while (take(&reader, ','));
        if (!take(&reader, '}'))
            return false;
    }
    skip_space(&reader);
    return reader.at == reader.end;
}
