/* history.c - see history.h. */
#include "history.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define LAST_SIZE (HISTORY_TURNS * sizeof(struct last))

int64_t history_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_BOOTTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int history_open(struct history *history, const char *folder, const char *file,
                 const char *who)
{
    char path[4096];

    *history = (struct history){ .fd = -1, .who = who, .folder = folder };
    snprintf(path, sizeof path, "%s/%s.jsonl", folder, file);
    history->fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (history->fd < 0)
        return -1;

    snprintf(path, sizeof path, "%s/%s.last", folder, who);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0 || ftruncate(fd, (off_t)LAST_SIZE) != 0)
        return -1;
    history->last = mmap(NULL, LAST_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return history->last == MAP_FAILED ? -1 : 0;
}

void history_close(struct history *history)
{
    munmap(history->last, LAST_SIZE);
    close(history->fd);
}

void history_add(struct history *history, const char *event, int64_t when,
                 const char *format, ...)
{
    char    line[1024];
    va_list args;
    int     n = snprintf(line, sizeof line, "{\"t\":%lld,\"e\":\"%s\",\"who\":\"%s\"",
                         (long long)when, event, history->who);

    va_start(args, format);
    n += vsnprintf(line + n, sizeof line - (size_t)n - 2, format, args);
    va_end(args);
    n = n > (int)sizeof line - 3 ? (int)sizeof line - 3 : n;
    line[n++] = '}';
    line[n++] = '\n';
    if (write(history->fd, line, (size_t)n) != n)
        dprintf(STDERR_FILENO, "%s: cannot write its history\n", history->who);
}

const char *history_deadline(int64_t deadline)
{
    static _Thread_local char text[32];

    if (deadline == HISTORY_NEVER)
        return "null";
    snprintf(text, sizeof text, "%lld", (long long)deadline);
    return text;
}
