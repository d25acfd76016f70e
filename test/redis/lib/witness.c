/* witness.c - see witness.h. */
#include "witness.h"

#include "base/clock.h"
#include "holdfast.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define LIMIT_MS  10000
#define LITTER_MS 1500

static char said[65536];
static char prefix[64] = "holdfast";

static const char *need(const char *name)
{
    const char *value = getenv(name);

    if (value == NULL || strstr(hf_stores(), "redis") == NULL) {
        puts("# SKIP no server, run it by test/server/redis.py; or no store for it");
        exit(77);
    }
    return value;
}

const char *witness_server(void)
{
    return need("HF_REDIS_ADDRESS");
}

const char *witness_other(const char *which)
{
    char name[64];

    snprintf(name, sizeof name, "HF_REDIS_%s", which);
    return need(name);
}

void witness_use(const char *text)
{
    snprintf(prefix, sizeof prefix, "%s", text);
}

const char *witness_prefix(void)
{
    return prefix;
}

/* ---- Asking ----------------------------------------------------------------------- */

/* Send a line to a Unix socket, and read to the end. */
static void exchange(const char *path, const char *line, size_t size)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    size_t             used = 0;
    ssize_t            n;

    snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){ .tv_sec = 20 },
               sizeof(struct timeval));
    if (connect(fd, (struct sockaddr *)&at, sizeof at) < 0)
        fail_msg("nobody listens at %s", path);
    assert_int_equal(send(fd, line, size, MSG_NOSIGNAL), size);
    while ((n = read(fd, said + used, sizeof said - 1 - used)) > 0)
        used += (size_t)n;
    said[used] = '\0';
    close(fd);
}

/* After QUIT the server closes: that is the end of the answer. */
static const char *ask(int nth, const char *format, va_list args)
{
    static const char last[] = "\r\nQUIT\r\n", bye[] = "+OK\r\n";
    char              line[1024], path[160];

    int n = vsnprintf(line, sizeof line - sizeof last, format, args);
    assert_true(n > 0 && (size_t)n < sizeof line - sizeof last);
    memcpy(line + n, last, sizeof last);
    snprintf(path, sizeof path, "%s/%d/redis.sock", getenv("HF_REDIS_DIR"), nth);
    exchange(path, line, strlen(line));
    for (int i = 0; i < 3 && said[0] == '\0'; i++) /* who becomes a master hangs up */
        exchange(path, line, strlen(line));
    size_t length = strlen(said), rest = strlen(bye);
    if (length < rest || strcmp(said + length - rest, bye) != 0)
        fail_msg("%.*s: %s", n, line, said);
    said[length - rest] = '\0';
    return said;
}

const char *witness_ask_of(int nth, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    const char *answer = ask(nth, format, args);
    va_end(args);
    return answer;
}

const char *witness_ask(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    const char *answer = ask(1, format, args);
    va_end(args);
    return answer;
}

long witness_number(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    const char *answer = ask(1, format, args);
    va_end(args);
    if (answer[0] != ':')
        fail_msg("no number: %s", answer);
    return strtol(answer + 1, NULL, 10);
}

void witness_do(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    const char *answer = ask(1, format, args);
    va_end(args);
    if (strcmp(answer, "+OK\r\n") != 0)
        fail_msg("%s: %s", format, answer);
}

const char *witness_tell(const char *format, ...)
{
    char    line[256];
    va_list args;

    va_start(args, format);
    int n = vsnprintf(line, sizeof line - 1, format, args);
    va_end(args);
    line[n] = '\n';
    exchange(getenv("HF_REDIS_CTL"), line, (size_t)n + 1);
    if (strncmp(said, "ok", 2) != 0)
        fail_msg("the server's keeper: %s", said);
    return said + 2;
}

/* ---- Looking ---------------------------------------------------------------------- */

static size_t members(char letter, const char *name)
{
    return (size_t)witness_number("ZLEXCOUNT {%s}:order \"[%c%s\\n\" \"(%c%s\\x0b\"",
                                  prefix, letter, name, letter, name);
}

size_t witness_holders(const char *name)
{
    return members('h', name);
}

size_t witness_waiters(const char *name)
{
    return members('q', name);
}

void witness_await(const char *name, size_t holders, size_t waiters)
{
    hf_time end = hf_now() + LIMIT_MS * HF_MS;

    while ((witness_holders(name) != holders || witness_waiters(name) != waiters) &&
           hf_now() < end)
        poll(NULL, 0, 1);
    assert_int_equal(witness_holders(name), holders);
    assert_int_equal(witness_waiters(name), waiters);
}

long witness_calls(const char *command)
{
    char        text[64];
    const char *all = witness_ask("INFO commandstats");

    snprintf(text, sizeof text, "cmdstat_%s:calls=", command);
    const char *at = strstr(all, text);
    return at != NULL ? strtol(at + strlen(text), NULL, 10) : 0;
}

/* Does the hash have a field of a place, a line, an ask, a secret or a watch?  Others are
 * sessions' and words of the namespace. */
static bool has_places(void)
{
    const char *at = witness_ask("HKEYS {%s}:state", prefix);

    for (; (at = strstr(at, "\r\n")) != NULL; at += 2)
        if (at[2] != '\0' && strchr("tlawk", at[2]) != NULL && at[3] == '\n')
            return true;
    return false;
}

/* Sessions come and go between two looks, so neither counts them. */
static long others_than_sessions(void)
{
    return witness_number("ZLEXCOUNT {%s}:order - (e", prefix) +
           witness_number("ZLEXCOUNT {%s}:order [f +", prefix);
}

void witness_empty(void)
{
    hf_time end = hf_now() + LITTER_MS * HF_MS;

    while ((others_than_sessions() > 0 || has_places()) && hf_now() < end)
        poll(NULL, 0, 5);
    if (others_than_sessions() > 0)
        fail_msg("left behind: %s", witness_ask("ZRANGE {%s}:order 0 9", prefix));
    if (has_places())
        fail_msg("left behind: %s", witness_ask("HKEYS {%s}:state", prefix));
}

long witness_sessions(void)
{
    return witness_number("ZLEXCOUNT {%s}:order [e (f", prefix);
}

void witness_settle(int ttl_ms)
{
    static const char name[] = "uptime_in_seconds:";
    hf_time           end = hf_now() + LIMIT_MS * HF_MS;
    long              up = 0;

    while (up * 1000 < ttl_ms + 1000 && hf_now() < end) {
        const char *at = strstr(witness_ask("INFO server"), name);
        assert_non_null(at);
        up = strtol(at + strlen(name), NULL, 10);
        if (up * 1000 < ttl_ms + 1000)
            poll(NULL, 0, 50);
    }
}
