/* turns.c - see turns.h. */
#include "turns.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define LAST_SIZE (TURNS_MAX * sizeof(struct last))

int64_t turns_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_BOOTTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int turns_open(struct turns *history, const char *folder, const char *file,
               const char *who)
{
    char path[4096];

    *history = (struct turns){ .fd = -1, .folder = folder };
    snprintf(history->who, sizeof history->who, "%s", who);
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

void turns_close(struct turns *history)
{
    munmap(history->last, LAST_SIZE);
    close(history->fd);
}

/* ---- Lines ---------------------------------------------------------------------------- */

void turns_add(struct turns *history, const char *event, int64_t when, const char *format,
               ...)
{
    char    line[1024];
    va_list args;
    int n = snprintf(line, sizeof line, "{\"t\":%" PRId64 ",\"e\":\"%s\",\"who\":\"%s\"",
                     when, event, history->who);

    if (history->turn > 0)
        n += snprintf(line + n, sizeof line - (size_t)n, ",\"n\":%ld", history->turn);
    va_start(args, format);
    n += vsnprintf(line + n, sizeof line - (size_t)n - 2, format, args);
    va_end(args);
    n = n > (int)sizeof line - 3 ? (int)sizeof line - 3 : n;
    line[n++] = '}';
    line[n++] = '\n';
    if (write(history->fd, line, (size_t)n) != n)
        dprintf(STDERR_FILENO, "%s: cannot write its history\n", history->who);
}

void turns_want(struct turns *history, const char *lock, uint32_t weight,
                uint32_t capacity)
{
    history->turn++;
    turns_add(history, "want", turns_now(),
              ",\"lock\":\"%s\",\"weight\":%" PRIu32 ",\"capacity\":%" PRIu32, lock,
              weight, capacity);
}

void turns_place(struct turns *history)
{
    turns_add(history, "place", turns_now(), "%s", "");
}

static void add_grant(struct turns *history, int64_t when, uint64_t token, bool requeued)
{
    int64_t deadline = history->last[history->turn].deadline;
    char    number[32] = "null", until[32] = "null";

    if (token != 0)
        snprintf(number, sizeof number, "%" PRIu64, token);
    if (deadline != 0 && deadline != TURNS_NEVER)
        snprintf(until, sizeof until, "%" PRId64, deadline);
    turns_add(history, "grant", when, ",\"token\":%s,\"deadline\":%s,\"requeued\":%s",
              number, until, requeued ? "true" : "false");
}

void turns_grant(struct turns *history, uint64_t token)
{
    int64_t now = turns_now();

    turns_touch(history);
    add_grant(history, now, token, false);
}

void turns_fail(struct turns *history, const char *result)
{
    turns_add(history, "fail", turns_now(), ",\"result\":\"%s\"", result);
}

void turns_lost(struct turns *history)
{
    turns_add(history, "lost", turns_now(), "%s", "");
}

void turns_release(struct turns *history, int64_t begun, int result)
{
    turns_add(history, "release", turns_now(), ",\"begun\":%" PRId64 ",\"result\":\"%s\"",
              begun, result == 0 ? "0" : hf_errname(result));
}

void turns_end(struct turns *history)
{
    turns_add(history, "end", turns_now(), ",\"status\":0");
}

void turns_touch(struct turns *history)
{
    history->last[history->turn] = (struct last){ turns_now(), TURNS_NEVER };
}

/* ---- Turns with the library --------------------------------------------------------------- */

/* The clock is read first: at that time the lock was ours, and the deadline is not too late. */
bool turns_act(struct turns *history, struct hf_lock *lock)
{
    struct last *last = &history->last[history->turn];
    int64_t      now = turns_now();
    int64_t      left = hf_left_ms(lock);

    if (left <= 0)
        return false;
    last->deadline = left == INT64_MAX ? TURNS_NEVER : now + left * 1000000;
    last->when = now;
    return true;
}

void turns_granted(struct turns *history, struct hf_lock *lock, bool requeued)
{
    int64_t now = turns_now();

    history->last[history->turn].deadline = now; /* until we know better */
    (void)turns_act(history, lock);
    add_grant(history, now, hf_token(lock), requeued);
}

int turns_take(struct turns *history, struct hf_lock *lock, const char *name,
               uint32_t weight, uint32_t capacity, int64_t limit_ms)
{
    turns_want(history, name, weight, capacity);
    int r = hf_acquire(lock, limit_ms);
    if (r == 0)
        turns_granted(history, lock, false);
    else
        turns_fail(history, hf_errname(r));
    return r;
}

int turns_give(struct turns *history, struct hf_lock *lock)
{
    int64_t begun = turns_now();
    int     r = hf_release(lock);

    turns_release(history, begun, r);
    return r;
}

/* ---- The judge -------------------------------------------------------------------------------- */

char *turns_folder(void)
{
    const char *base = getenv("TMPDIR");
    char       *folder = malloc(4096);

    if (folder == NULL)
        return NULL;
    snprintf(folder, 4096, "%s/histories-XXXXXX", base != NULL ? base : "/tmp");
    if (mkdtemp(folder) != NULL)
        return folder;
    free(folder);
    return NULL;
}

bool turns_judge(char *folder)
{
    char command[4096 + 64];

    fflush(NULL);
    snprintf(command, sizeof command, "python3 -B test/chaos/check.py '%s'", folder);
    bool good = system(command) == 0;
    turns_forget(folder);
    return good;
}

void turns_forget(char *folder)
{
    char command[4096 + 64];

    snprintf(command, sizeof command, "rm -r '%s'", folder);
    if (system(command) != 0)
        dprintf(STDERR_FILENO, "%s: cannot be removed\n", folder);
    free(folder);
}
