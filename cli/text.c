/* text.c - see text.h. */
#include "text.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Milliseconds in a unit, 0 if it is none. */
static int64_t unit_ms(const char *unit)
{
    static const struct {
        const char *name;
        int64_t     ms;
    } units[] = {
        { "", 1000 },       { "ms", 1 },          { "s", 1000 },
        { "m", 60 * 1000 }, { "h", 3600 * 1000 }, { "d", 24 * 3600 * 1000 },
    };

    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(unit, units[i].name) == 0)
            return units[i].ms;
    return 0;
}

int64_t text_parse_duration(const char *text)
{
    const int64_t most = 1000000000; /* whole units: thirty years of seconds */
    int64_t       whole = 0, part = 0, scale = 1;
    const char   *s = text;

    for (; is_digit(*s); s++) {
        whole = whole * 10 + (*s - '0');
        if (whole > most)
            return -1;
    }
    bool digits = s != text;
    if (*s == '.') {
        for (s++; is_digit(*s); s++) {
            digits = true;
            if (scale < 1000000) /* finer than that does not matter */
                part = part * 10 + (*s - '0'), scale *= 10;
        }
    }
    int64_t unit = unit_ms(s);
    if (!digits || unit == 0)
        return -1;
    return whole * unit + (part * unit + scale - 1) / scale;
}

bool text_parse_number(const char *text, uint64_t least, uint64_t most, uint64_t *ret)
{
    uint64_t value = 0;

    if (*text == '\0')
        return false;
    for (const char *s = text; *s != '\0'; s++) {
        if (!is_digit(*s) || value > (UINT64_MAX - 9) / 10)
            return false;
        value = value * 10 + (uint64_t)(*s - '0');
    }
    if (value < least || value > most)
        return false;
    *ret = value;
    return true;
}

const char *text_age(char out[TEXT_AGE_MAX], int64_t microseconds)
{
    int64_t s = microseconds < 0 ? 0 : microseconds / 1000000;

    if (s < 60)
        snprintf(out, TEXT_AGE_MAX, "%ds", (int)s);
    else if (s < 3600)
        snprintf(out, TEXT_AGE_MAX, "%dm%02ds", (int)(s / 60), (int)(s % 60));
    else if (s < 24 * 3600)
        snprintf(out, TEXT_AGE_MAX, "%dh%02dm", (int)(s / 3600), (int)(s / 60 % 60));
    else
        snprintf(out, TEXT_AGE_MAX, "%lldd%02dh", (long long)(s / 86400),
                 (int)(s / 3600 % 24));
    return out;
}

const char *text_time(char out[TEXT_TIME_MAX], int64_t microseconds)
{
    time_t    seconds = (time_t)(microseconds / 1000000);
    struct tm tm;

    if (microseconds < 0 || gmtime_r(&seconds, &tm) == NULL) {
        snprintf(out, TEXT_TIME_MAX, "1970-01-01T00:00:00Z");
        return out;
    }
    size_t n = strftime(out, TEXT_TIME_MAX, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(out + n, TEXT_TIME_MAX - n, ".%06dZ", (int)(microseconds % 1000000));
    return out;
}

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
    /* Overlong forms, surrogates, and what lies beyond Unicode. */
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
        (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
        return 0;
    return length;
}

static bool is_control(const char *text, size_t length)
{
    unsigned char a = (unsigned char)text[0], b = (unsigned char)text[1];

    return length == 1 ? a < 0x20 || a == 0x7f : length == 2 && a == 0xc2 && b < 0xa0;
}

void text_clean(char *out, size_t size, const char *text)
{
    size_t used = 0;

    assert(size > 0);
    while (*text != '\0') {
        size_t length = text_utf8(text);
        bool   bad = length == 0 || is_control(text, length);
        size_t want = bad ? 1 : length;

        if (used + want >= size)
            break;
        if (bad)
            out[used] = '?';
        else
            memcpy(out + used, text, length);
        used += want;
        text += length == 0 ? 1 : length;
    }
    out[used] = '\0';
}

size_t text_columns(const char *text)
{
    size_t columns = 0;

    for (; *text != '\0'; text++)
        columns += ((unsigned char)*text & 0xc0) != 0x80;
    return columns;
}

void text_cut(char *text, size_t columns)
{
    size_t seen = 0;

    assert(columns >= 3);
    if (text_columns(text) <= columns)
        return;
    for (; *text != '\0'; text++) {
        if (((unsigned char)*text & 0xc0) == 0x80)
            continue;
        if (seen++ == columns - 3)
            break;
    }
    strcpy(text, "...");
}
