/* text.c - see text.h. */
#include "text.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Milliseconds in a unit; 0: unknown unit. */
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

/* A hundred years: nobody waits longer, and the sum with any time in ns does not overflow. */
#define LONGEST_MS (INT64_C(36525) * 24 * 3600 * 1000)

int64_t text_parse_duration(const char *text)
{
    const int64_t most = 1000000000; /* units: thirty years of seconds */
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
    int64_t ms = whole * unit + (part * unit + scale - 1) / scale;
    return ms < LONGEST_MS ? ms : LONGEST_MS;
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

/* ---- Signals ------------------------------------------------------------------------ */

static const struct {
    int         number;
    const char *name;
} signals[] = {
    { SIGHUP, "HUP" },   { SIGINT, "INT" },   { SIGQUIT, "QUIT" }, { SIGABRT, "ABRT" },
    { SIGKILL, "KILL" }, { SIGUSR1, "USR1" }, { SIGUSR2, "USR2" }, { SIGPIPE, "PIPE" },
    { SIGALRM, "ALRM" }, { SIGTERM, "TERM" }, { SIGCONT, "CONT" }, { SIGSTOP, "STOP" },
    { SIGTSTP, "TSTP" }, { SIGTTIN, "TTIN" }, { SIGTTOU, "TTOU" }, { SIGWINCH, "WINCH" },
};

#define SIGNALS (sizeof signals / sizeof *signals)

int text_parse_signal(const char *text)
{
    const char *bare = strncasecmp(text, "SIG", 3) == 0 ? text + 3 : text;
    uint64_t    number;

    for (size_t i = 0; i < SIGNALS; i++)
        if (strcasecmp(bare, signals[i].name) == 0)
            return signals[i].number;
    if (text_parse_number(text, 1, (uint64_t)SIGRTMAX, &number))
        return (int)number;
    return -1;
}

const char *text_signal(int signal)
{
    static char number[16];

    for (size_t i = 0; i < SIGNALS; i++)
        if (signal == signals[i].number)
            return signals[i].name;
    snprintf(number, sizeof number, "%d", signal);
    return number;
}
