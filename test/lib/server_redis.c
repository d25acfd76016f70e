/* server_redis.c - see server_redis.h. */
#include "lib/server_redis.h"

#include "lib/server_control.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT_MS 10000

static char prefix[64] = "holdfast";

const char *redis_other(const char *which)
{
    char name[64];

    snprintf(name, sizeof name, "HF_REDIS_%s", which);
    const char *value = getenv(name);
    if (value == NULL) {
        printf("# SKIP no %s\n", name);
        exit(77);
    }
    return value;
}

void redis_use(const char *text)
{
    snprintf(prefix, sizeof prefix, "%s", text);
}

/* ---- Commands ------------------------------------------------------------------ */

/* After QUIT the server closes the connection: that ends the answer. */
static const char *ask(int nth, const char *format, va_list args)
{
    static const char last[] = "\r\nQUIT\r\n", bye[] = "+OK\r\n";
    char              line[1024], path[160];

    int n = vsnprintf(line, sizeof line - sizeof last, format, args);
    assert_true(n > 0 && (size_t)n < sizeof line - sizeof last);
    memcpy(line + n, last, sizeof last);
    snprintf(path, sizeof path, "%s/%d/redis.sock", getenv("HF_REDIS_DIR"), nth);
    char *said = socket_exchange(path, line, strlen(line));
    for (int i = 0; i < 3 && said[0] == '\0';
         i++) /* a replica that becomes a master closes connections */
        said = socket_exchange(path, line, strlen(line));
    size_t length = strlen(said), rest = strlen(bye);
    if (length < rest || strcmp(said + length - rest, bye) != 0)
        fail_msg("%.*s: %s", n, line, said);
    said[length - rest] = '\0';
    return said;
}

const char *redis_ask_of(int nth, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    const char *answer = ask(nth, format, args);
    va_end(args);
    return answer;
}

const char *redis_ask(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    const char *answer = ask(1, format, args);
    va_end(args);
    return answer;
}

long redis_number(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    const char *answer = ask(1, format, args);
    va_end(args);
    if (answer[0] != ':')
        fail_msg("no number: %s", answer);
    return strtol(answer + 1, NULL, 10);
}

void redis_do(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    const char *answer = ask(1, format, args);
    va_end(args);
    if (strcmp(answer, "+OK\r\n") != 0)
        fail_msg("%s: %s", format, answer);
}

long redis_calls(const char *command)
{
    char        text[64];
    const char *all = redis_ask("INFO commandstats");

    snprintf(text, sizeof text, "cmdstat_%s:calls=", command);
    const char *at = strstr(all, text);
    return at != NULL ? strtol(at + strlen(text), NULL, 10) : 0;
}

long redis_sessions(void)
{
    return redis_number("ZLEXCOUNT {%s}:order [e (f", prefix);
}

void redis_settle(int ttl_ms)
{
    static const char name[] = "uptime_in_seconds:";
    hf_time           end = hf_now() + LIMIT_MS * HF_MS;
    long              up = 0;

    while (up * 1000 < ttl_ms + 1000 && hf_now() < end) {
        const char *at = strstr(redis_ask("INFO server"), name);
        assert_non_null(at);
        up = strtol(at + strlen(name), NULL, 10);
        if (up * 1000 < ttl_ms + 1000)
            poll(NULL, 0, 50);
    }
}

/* ---- struct server_kind -------------------------------------------------------- */

static const char *server(void)
{
    return getenv("HF_REDIS_ADDRESS");
}

static void write_url(char *url, size_t size, const char *address, const char *params)
{
    snprintf(url, size, "redis://%s?%s&prefix=%s", address != NULL ? address : server(),
             params, prefix);
}

static size_t members(char letter, const char *name)
{
    return (size_t)redis_number("ZLEXCOUNT {%s}:order \"[%c%s\\n\" \"(%c%s\\x0b\"",
                                prefix, letter, name, letter, name);
}

static size_t holders(const char *name)
{
    return members('h', name);
}

static size_t waiters(const char *name)
{
    return members('q', name);
}

/* Does the hash have a field of a place, a queue, an ASK, a secret or a watch?  Other
 * fields belong to sessions and to the namespace. */
static bool has_places(void)
{
    const char *at = redis_ask("HKEYS {%s}:state", prefix);

    for (; (at = strstr(at, "\r\n")) != NULL; at += 2)
        if (at[2] != '\0' && strchr("tlawk", at[2]) != NULL && at[3] == '\n')
            return true;
    return false;
}

/* Sessions may begin and end between two reads, so neither counts them. */
static long others_than_sessions(void)
{
    return redis_number("ZLEXCOUNT {%s}:order - (e", prefix) +
           redis_number("ZLEXCOUNT {%s}:order [f (u", prefix) +
           redis_number("ZLEXCOUNT {%s}:order [v +", prefix);
}

static const char *leftovers(void)
{
    if (others_than_sessions() > 0)
        return redis_ask("ZRANGE {%s}:order 0 9", prefix);
    return has_places() ? redis_ask("HKEYS {%s}:state", prefix) : NULL;
}

const struct server_kind server_kind_redis = {
    .name = "redis",
    .control = "HF_REDIS_CTL",
    .write_url = write_url,
    .server = server,
    .holders = holders,
    .waiters = waiters,
    .leftovers = leftovers,
};
