/* complain.c - see complain.h. */
#include "complain.h"

#include "redact.h"
#include "text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void complain(const char *format, ...)
{
    char    raw[1024], line[1100];
    va_list args;

    va_start(args, format);
    vsnprintf(raw, sizeof raw, format, args);
    va_end(args);
    redact_text(raw); /* somebody's URL in the wrong place */
    text_clean(line, sizeof line - 1, raw);

    /* One write: lines of several processes must not mix. */
    char   whole[1200];
    int    length = snprintf(whole, sizeof whole, "holdfast: %s\n", line);
    size_t size = (size_t)length < sizeof whole ? (size_t)length : sizeof whole - 1;
    if (write(STDERR_FILENO, whole, size) < 0)
        return; /* stderr is closed, and there is no other way to say so */
}

int complain_errno(const char *what)
{
    complain("%s: %s", what, strerror(errno));
    return EXIT_INTERNAL;
}

int exit_for(int error)
{
    switch (error) {
    case HF_EINVAL:
    case HF_EMISMATCH:
    case HF_EDEADLOCK:
    case HF_EUNSUPPORTED:
        return EXIT_USAGE;
    case HF_EBUSY:
    case HF_ETIMEOUT:
        return EXIT_BUSY;
    case HF_ELOST:
        return EXIT_LOST;
    case HF_EDOWN:
    case HF_EDENIED:
    case HF_EFULL:
    case HF_ECORRUPT:
    case HF_ENOTFOUND:
    case HF_ESTORE:
        return EXIT_UNAVAILABLE;
    default:
        return EXIT_INTERNAL;
    }
}

const char *failure_text(struct hf_client *client, int error)
{
    const char *text = hf_errmsg(client);

    return text != NULL && *text != '\0' ? text : hf_strerror(error);
}

int complain_failure(struct hf_client *client, int error)
{
    complain("%s", failure_text(client, error));
    return exit_for(error);
}
