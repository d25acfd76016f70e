/* log.c - see log.h. */
#include "log.h"

#include "text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MESSAGE_MAX 4096

void log_print(const char *format, ...)
{
    char    raw[MESSAGE_MAX], line[MESSAGE_MAX], whole[MESSAGE_MAX + 32];
    va_list args;

    va_start(args, format);
    vsnprintf(raw, sizeof raw, format, args);
    va_end(args);
    text_clean(line, sizeof line, raw);
    int length = snprintf(whole, sizeof whole, "holdfast-web: %s\n", line);
    if (write(STDERR_FILENO, whole, (size_t)length) < 0)
        return; /* there is nowhere to report it */
}

int log_errno(const char *what)
{
    log_print("%s: %s", what, strerror(errno));
    return EXIT_INTERNAL;
}
