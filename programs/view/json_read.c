/* json_read.c - see json_read.h. */
#include "json_read.h"

#include "text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct reader {
    const char *at, *end;
    char       *error;
    size_t      error_size;
};

static bool fail(struct reader *reader, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The first fault counts: those that follow are its consequences.  Returns false. */
static bool fail(struct reader *reader, const char *format, ...)
{
    va_list args;

    if (reader->error_size == 0 || reader->error[0] != '\0')
        return false;
    va_start(args, format);
    vsnprintf(reader->error, reader->error_size, format, args);
    va_end(args);
    return false;
}

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
static bool read_string(struct reader *reader, const char *what, char *out, size_t size)
{
    size_t used = 0;

    if (out != NULL)
        out[0] = '\0';
    if (!take(reader, '"'))
        return fail(reader, "%s must be a string", what);
    while (reader->at < reader->end && *reader->at != '"') {
        char   bytes[4];
        size_t count;
        if (*reader->at == '\\') {
            reader->at++;
            if (!read_escape(reader, bytes, &count))
                return fail(reader, "%s has an invalid escape sequence", what);
        } else {
            count = text_utf8(reader->at); /* also 0 at the NUL after the end */
            if (count == 0 || (unsigned char)*reader->at < 0x20)
                return fail(reader,
                            "%s has bytes that are not UTF-8, or control characters",
                            what);
            memcpy(bytes, reader->at, count);
            reader->at += count;
        }
        if (out != NULL && !put(out, size, &used, bytes, count))
            return fail(reader, "%s is longer than %zu bytes", what, size - 1);
    }
    return take(reader, '"') || fail(reader, "the closing quote of %s is missing", what);
}

static bool take_word(struct reader *reader, const char *word)
{
    size_t length = strlen(word);

    skip_space(reader);
    if ((size_t)(reader->end - reader->at) < length ||
        memcmp(reader->at, word, length) != 0)
        return false;
    reader->at += length;
    return true;
}

static bool is_digit(const struct reader *reader)
{
    return reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9';
}

static bool read_number(struct reader *reader, const char *what, int64_t *ret)
{
    int64_t value = 0;

    skip_space(reader);
    const char *begin = reader->at;
    for (; is_digit(reader) && value <= JSON_NUMBER_MAX; reader->at++)
        value = value * 10 + (*reader->at - '0');
    bool whole = reader->at > begin && (*begin != '0' || reader->at == begin + 1) &&
                 value <= JSON_NUMBER_MAX &&
                 (reader->at == reader->end || strchr(".eE", *reader->at) == NULL ||
                  *reader->at == '\0');
    if (!whole)
        return fail(reader, "%s must be a whole number from 0 to 2^53 - 1", what);
    *ret = value;
    return true;
}

static bool read_bool(struct reader *reader, const char *what, bool *ret)
{
    bool yes = take_word(reader, "true");

    if (!yes && !take_word(reader, "false"))
        return fail(reader, "%s must be true or false", what);
    *ret = yes;
    return true;
}

static bool skip_value(struct reader *reader, const char *what)
{
    bool    truth;
    int64_t number;

    skip_space(reader);
    if (reader->at < reader->end && *reader->at == '"')
        return read_string(reader, what, NULL, 0);
    if (is_digit(reader))
        return read_number(reader, what, &number);
    return take_word(reader, "null") || read_bool(reader, what, &truth);
}

static bool read_value(struct reader *reader, const char *what,
                       struct json_member *member)
{
    if (member->given)
        return fail(reader, "%s is there twice", what);
    if (take_word(reader, "null"))
        return true;
    member->given = true;
    switch (member->type) {
    case JSON_TEXT:
        return read_string(reader, what, member->value, member->size);
    case JSON_NUMBER:
        return read_number(reader, what, member->value);
    case JSON_BOOL:
        return read_bool(reader, what, member->value);
    }
    return false;
}

static bool read_member(struct reader *reader, struct json_member *member, size_t members,
                        enum json_others others)
{
    char name[32], what[40];

    if (!read_string(reader, "the name of a member", name, sizeof name))
        return false;
    snprintf(what, sizeof what, "\"%s\"", name);
    if (!take(reader, ':'))
        return fail(reader, "there is no colon after %s", what);
    for (size_t i = 0; i < members; i++)
        if (strcmp(name, member[i].name) == 0)
            return read_value(reader, what, &member[i]);
    if (others == JSON_ALONE)
        return fail(reader, "there is no member %s", what);
    return skip_value(reader, what);
}

bool json_read(const char *text, size_t size, struct json_member *member, size_t members,
               enum json_others others, char *error, size_t error_size)
{
    struct reader reader = { text, text + size, error, error_size };

    if (error_size > 0)
        error[0] = '\0';
    for (size_t i = 0; i < members; i++)
        member[i].given = false;
    if (!take(&reader, '{'))
        return fail(&reader, "this is not a JSON object");
    if (!take(&reader, '}')) {
        do {
            if (!read_member(&reader, member, members, others))
                return false;
        } while (take(&reader, ','));
        if (!take(&reader, '}'))
            return fail(&reader, "there is no comma or closing brace after a member");
    }
    skip_space(&reader);
    if (reader.at != reader.end)
        return fail(&reader, "something follows the JSON object");
    return true;
}
