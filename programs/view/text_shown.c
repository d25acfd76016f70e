/* text_shown.c - makes other people's text safe to show on a terminal. */
#include "text.h"

#include <assert.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

size_t text_utf8(const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    size_t               length;

    if (s[0] == '\0')
        return 0;
    if (s[0] < 0x80)
        return 1;
    if (s[0] >= 0xc2 && s[0] <= 0xdf)
        length = 2;
    else if (s[0] >= 0xe0 && s[0] <= 0xef)
        length = 3;
    else if (s[0] >= 0xf0 && s[0] <= 0xf4)
        length = 4;
    else
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((s[i] & 0xc0) != 0x80) /* also ends at a NUL */
            return 0;
    /* Overlong forms, surrogates, and values beyond Unicode. */
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
        (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
        return 0;
    return length;
}

uint32_t text_character(const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    size_t               length = text_utf8(text);

    if (length < 2)
        return s[0];
    uint32_t character = s[0] & (0xffu >> (length + 1));
    for (size_t i = 1; i < length; i++)
        character = character << 6 | (s[i] & 0x3f);
    return character;
}

size_t text_encode(char out[4], uint32_t character)
{
    if (character < 0x80) {
        out[0] = (char)character;
        return 1;
    }
    size_t length = character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
    for (size_t i = length - 1; i > 0; i--, character >>= 6)
        out[i] = (char)(0x80 | (character & 0x3f));
    out[0] = (char)((0xf0u << (4 - length)) | character);
    return length;
}

/* Control characters, characters for text direction and line breaks, and those that Unicode
 * calls default ignorable, except for the variation selectors of emoji. */
bool text_is_hidden(uint32_t character)
{
    static const struct {
        uint32_t first, last;
    } hidden[] = {
        { 0x00, 0x1f },       { 0x7f, 0x9f },       { 0xad, 0xad },
        { 0x34f, 0x34f },     { 0x61c, 0x61c },     { 0x115f, 0x1160 },
        { 0x17b4, 0x17b5 },   { 0x180b, 0x180f },   { 0x200b, 0x200f },
        { 0x2028, 0x202e },   { 0x2060, 0x206f },   { 0x3164, 0x3164 },
        { 0xfeff, 0xfeff },   { 0xffa0, 0xffa0 },   { 0xfff0, 0xfffb },
        { 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a }, { 0xe0000, 0xe0fff },
    };

    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
        if (character <= hidden[i].last)
            return character >= hidden[i].first;
    return false;
}

/* Writes the first character of `text` as it is shown; returns its length in bytes. */
static size_t show_text(char shown[16], const char *text)
{
    size_t   length = text_utf8(text);
    uint32_t character = text_character(text);

    const char *letter = length == 1 ? strchr("\nn\tt\rr", (int)character) : NULL;

    if (length == 0)
        strcpy(shown, "?");
    else if (letter != NULL && text_is_hidden(character))
        snprintf(shown, 16, "\\%c", letter[1]); /* common in scripts */
    else if (!text_is_hidden(character))
        snprintf(shown, 16, "%.*s", (int)length, text);
    else
        snprintf(shown, 16, character > 0xffff ? "\\U%08x" : "\\u%04x", character);
    return length == 0 ? 1 : length;
}

void text_clean(char *out, size_t size, const char *text)
{
    size_t used = 0;
    char   shown[16];

    assert(size > 0);
    while (*text != '\0') {
        if (*text >= ' ' &&
            *text <= '~') { /* the fast path, for a thousand rows a second */
            if (used + 1 >= size)
                break;
            out[used++] = *text++;
            continue;
        }
        text += show_text(shown, text);
        size_t length = strlen(shown);
        if (used + length >= size)
            break;
        memcpy(out + used, shown, length);
        used += length;
    }
    out[used] = '\0';
}

/* Terminals show UTF-8, whatever locale the user has. */
static size_t width_of(const char *text)
{
    static locale_t utf8;
    uint32_t        character = text_character(text);

    if (character < 0x80)
        return 1;
    if (utf8 == (locale_t)0)
        utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    if (utf8 == (locale_t)0)
        return 1;
    locale_t before = uselocale(utf8);
    int      width = wcwidth((wchar_t)character);
    uselocale(before);
    return width < 0 ? 1 : (size_t)width;
}

static size_t step_text(const char *text)
{
    size_t length = text_utf8(text);

    return length == 0 ? 1 : length;
}

size_t text_columns(const char *text)
{
    size_t columns = 0;

    for (; *text != '\0'; text += step_text(text))
        columns += width_of(text);
    return columns;
}

size_t text_fit(const char *text, size_t columns)
{
    const char *end = text;

    while (*end != '\0') {
        size_t width = width_of(end);
        if (width > columns)
            break;
        columns -= width;
        end += step_text(end);
    }
    return (size_t)(end - text);
}

void text_cut(char *text, size_t columns)
{
    size_t seen = 0;

    assert(columns >= 3);
    if (text_columns(text) <= columns)
        return;
    for (; *text != '\0'; text += step_text(text)) {
        seen += width_of(text);
        if (seen > columns - 3)
            break;
    }
    strcpy(text, "...");
}
