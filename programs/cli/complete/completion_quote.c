/* completion_quote.c - a name as a word on bash's command line. */
#include "complete/completion.h"

#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where we are in a word: outside of quotes, or in those. */
enum place {
    OUTSIDE = 0,
    SINGLE = '\'',
    DOUBLE = '"',
    BYTES = '$', /* $'\xe2': of what bash knows there, only what we write ourselves */
};

/* How many characters at `s` are one step, in which place we are after it, and which
 * byte it means; 0: none. */
static size_t step_quote(const char *s, enum place *place, char *means)
{
    unsigned byte;
    int      length = 0;

    *means = '\0';
    if (*place == BYTES && sscanf(s, "\\x%2x%n", &byte, &length) == 1 && length == 4) {
        *means = (char)byte;
        return 4;
    }
    if (*s == '\'' && *place != DOUBLE) {
        *place = *place == OUTSIDE ? SINGLE : OUTSIDE;
        return 1;
    }
    if (*s == '"' && (*place == OUTSIDE || *place == DOUBLE)) {
        *place = *place == OUTSIDE ? DOUBLE : OUTSIDE;
        return 1;
    }
    if (*place == OUTSIDE && strncmp(s, "$'", 2) == 0) {
        *place = BYTES;
        return 2;
    }
    bool escapes = *s == '\\' && (*place == OUTSIDE ||
                                  (*place == DOUBLE && strchr("\\\"$`", s[1]) != NULL));
    if (escapes && s[1] == '\0')
        return 1; /* the beginning of what other names have in common */
    *means = s[escapes];
    return escapes ? 2 : 1;
}

/* Follow a name through a text that means its beginning; NULL: it does not. */
static const char *follow(const char *name, const char *text, enum place *place)
{
    char means;

    while (*text != '\0') {
        text += step_quote(text, place, &means);
        if (means != '\0' && *name++ != means)
            return NULL;
    }
    return name;
}

/* In a place to which we come back after it. */
static void put_bytes(FILE *out, const char *s, size_t length, enum place place)
{
    if (place != OUTSIDE)
        fputc((int)place, out);
    fputs("$'", out);
    for (size_t i = 0; i < length; i++)
        fprintf(out, "\\x%02x", (unsigned char)s[i]);
    fputc('\'', out);
    if (place != OUTSIDE)
        fputc((int)place, out);
}

static bool is_plain(char c)
{
    return (unsigned char)c >= 0x80 || strchr("%+,-./:=@_", c) != NULL ||
           (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

static bool needs_backslash(char c, enum place place)
{
    if (place == DOUBLE)
        return strchr("\\\"$`", c) != NULL;
    return place == OUTSIDE && !is_plain(c);
}

static void put_quoted(FILE *out, char c, enum place place)
{
    if (place == SINGLE && c == '\'')
        fputs("'\\''", out);
    else if (place == DOUBLE && c == '!') /* history: there is no escape inside */
        fputs("\"\\!\"", out);
    else if (needs_backslash(c, place))
        fprintf(out, "\\%c", c);
    else
        fputc(c, out);
}

/* Of quotes that are open bash takes the first away if what it puts there begins with
 * one too, and closes them at the end unless it ends with one: such words are open. */
static void mend_ends(FILE *out, const char *text, enum place place)
{
    if (place != OUTSIDE && *text == (char)place)
        fputc((int)place, out);
    fputs(text, out);
    if (place != OUTSIDE && *text != '\0' && text[strlen(text) - 1] == (char)place)
        fputc((int)place, out);
}

/* Close a memstream, and return its text; NULL: no memory. */
static char *close_memory(FILE *out, char **text)
{
    if (fclose(out) == 0)
        return *text;
    free(*text);
    return NULL;
}

static char *quote(const char *text, enum place place)
{
    char  *quoted = NULL;
    size_t size, length;
    FILE  *out = open_memstream(&quoted, &size);

    if (out == NULL)
        return NULL;
    for (; *text != '\0'; text += length) {
        length = text_utf8(text);
        length = length == 0 ? 1 : length;
        if (text_is_hidden(text_character(text)))
            put_bytes(out, text, length, place);
        else
            for (size_t i = 0; i < length; i++)
                put_quoted(out, text[i], place);
    }
    return close_memory(out, &quoted);
}

char *completion_quote(const char *name, const char *head, const char *text)
{
    enum place  place = OUTSIDE;
    const char *rest = follow(name, head, &place);
    enum place  after = place;
    char       *quoted, *word = NULL;
    size_t      size;

    if (rest == NULL || place == BYTES || follow(rest, text, &after) == NULL)
        return NULL;
    quoted = quote(rest, place);
    FILE *out = quoted != NULL ? open_memstream(&word, &size) : NULL;
    if (out != NULL) {
        mend_ends(out, quoted, place);
        word = close_memory(out, &word);
    }
    free(quoted);
    return word;
}
