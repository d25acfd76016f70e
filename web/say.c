/* say.c - see say.h. */
#include "say.h"

#include "text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LINE_MAX_SAID 4096

void say(const char *format, ...)
{
    char    raw[LINE_MAX_SAID], line[LINE_MAX_SAID], whole[LINE_MAX_SAID + 32];
    va_list args;

    va_start(args, format);
    vsnprintf(raw, sizeof raw, format, args);
    va_end(args);
    text_clean(line, sizeof line, raw);
    int length = snprintf(whole, sizeof whole, "holdfast-web: %s\n", line);
    if (write(STDERR_FILENO, whole, (size_t)length) < 0)
        return; /* nobody listens: nothing better to do */
}

int say_errno(const char *what)
{
    say("%s: %s", what, strerror(errno));
    return EXIT_INTERNAL;
}
