/* json.c - see json.h. */
#include "json.h"

#include "text.h"

#include <assert.h>
#include <inttypes.h>

static void put_escaped(FILE *out, uint32_t character)
{
    if (character > 0xffff) /* JSON wants a pair of surrogates */
        fprintf(out, "\\u%04x\\u%04x", 0xd7c0 + (character >> 10),
                0xdc00 + (character & 0x3ff));
    else
        fprintf(out, "\\u%04x", character);
}

static void put_string(FILE *out, const char *text)
{
    fputc('"', out);
    while (*text != '\0') {
        size_t   length = text_utf8(text);
        uint32_t character = text_character(text);

        if (length == 0)
            fputs("\xef\xbf\xbd", out);
        else if (character == '"' || character == '\\')
            fprintf(out, "\\%c", (int)character);
        else if (text_is_hidden(character))
            put_escaped(out, character);
        else
            fwrite(text, 1, length, out);
        text += length == 0 ? 1 : length;
    }
    fputc('"', out);
}

static void begin_value(struct json *json, const char *key)
{
    if (json->comma)
        fputc(',', json->out);
    json->comma = true;
    if (key != NULL) {
        put_string(json->out, key);
        fputc(':', json->out);
    }
}

void json_open(struct json *json, const char *key, char bracket)
{
    assert(bracket == '{' || bracket == '[');
    begin_value(json, key);
    fputc(bracket, json->out);
    json->comma = false;
}

void json_close(struct json *json, char bracket)
{
    assert(bracket == '}' || bracket == ']');
    fputc(bracket, json->out);
    json->comma = true;
}

void json_string(struct json *json, const char *key, const char *value)
{
    begin_value(json, key);
    put_string(json->out, value);
}

void json_number(struct json *json, const char *key, int64_t value)
{
    begin_value(json, key);
    fprintf(json->out, "%" PRId64, value);
}

void json_number_or_null(struct json *json, const char *key, int64_t value)
{
    if (value < 0)
        json_null(json, key);
    else
        json_number(json, key, value);
}

void json_bool(struct json *json, const char *key, bool value)
{
    begin_value(json, key);
    fputs(value ? "true" : "false", json->out);
}

void json_null(struct json *json, const char *key)
{
    begin_value(json, key);
    fputs("null", json->out);
}

void json_token(struct json *json, const char *key, uint64_t value)
{
    begin_value(json, key);
    fprintf(json->out, "\"%" PRIu64 "\"", value);
}
