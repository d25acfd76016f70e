/* witness.c - see witness.h. */
#include "witness.h"

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
#define URL_MAX   256

static char said[65536];

void witness_start(void)
{
    if (getenv("HF_PG_URL") == NULL || strstr(hf_stores(), "postgres") == NULL) {
        puts("# SKIP no server, run it by test/server/postgres.py; or no store for it");
        exit(77);
    }
}

static const char *url_of(const char *variable, const char *params)
{
    static char     url[4][URL_MAX];
    static unsigned next;
    char           *ret = url[next++ % 4];

    snprintf(ret, URL_MAX, "%s?%s", getenv(variable), params);
    return ret;
}

const char *witness_url(const char *params)
{
    return url_of("HF_PG_URL", params);
}

const char *witness_pooler(const char *params)
{
    return url_of("HF_PG_POOLER", params);
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
    if (connect(fd, (struct sockaddr *)&at, sizeof at) < 0)
        fail_msg("nobody listens at %s", path);
    assert_int_equal(send(fd, line, size, MSG_NOSIGNAL), size);
    while ((n = read(fd, said + used, sizeof said - 1 - used)) > 0)
        used += (size_t)n;
    said[used] = '\0';
    close(fd);
}

static const char *tell(const char *verb, const char *format, va_list args)
{
    char line[1024];

    int n = snprintf(line, sizeof line, "%s", verb);
    n += vsnprintf(line + n, sizeof line - (size_t)n - 1, format, args);
    assert_true((size_t)n < sizeof line - 1);
    line[n] = '\n';
    exchange(getenv("HF_PG_CTL"), line, (size_t)n + 1);
    if (strncmp(said, "ok", 2) != 0)
        fail_msg("the server's keeper: %.*s: %s", n, line, said);
    return said + 2 + (said[2] == ' ');
}

const char *witness_tell(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    const char *answer = tell("", format, args);
    va_end(args);
    return answer;
}

static const char *ask(const char *format, va_list args)
{
    char *answer = (char *)tell("sql ", format, args);

    answer[strcspn(answer, "|\n")] = '\0';
    return answer;
}

const char *witness_ask(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    const char *answer = ask(format, args);
    va_end(args);
    return answer;
}

long witness_number(const char *format, ...)
{
    va_list args;
    char   *end;

    va_start(args, format);
    const char *answer = ask(format, args);
    va_end(args);
    long ret = strtol(answer, &end, 10);
    if (end == answer || *end != '\0')
        fail_msg("%s: no number: %s", format, answer);
    return ret;
}

/* ---- Looking ---------------------------------------------------------------------- */

static size_t count(const char *name, char state)
{
    return (size_t)witness_number("SELECT count(*) FROM holdfast.ticket "
                                  "WHERE name = '%s' AND state = '%c'",
                                  name, state);
}

size_t witness_holders(const char *name)
{
    return count(name, 'g');
}

size_t witness_waiters(const char *name)
{
    return count(name, 'w');
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

/* Of those who are dead and not buried nothing is counted. */
static long litter(void)
{
    return witness_number(
        "SELECT (SELECT count(*) FROM holdfast.ticket) + "
        "(SELECT count(*) FROM holdfast.watch) + "
        "(SELECT count(*) FROM holdfast.line WHERE holders + waiting > 0)");
}

void witness_empty(void)
{
    hf_time end = hf_now() + LITTER_MS * HF_MS;

    while (litter() > 0 && hf_now() < end)
        poll(NULL, 0, 5);
    if (litter() > 0)
        fail_msg("left behind: %s", witness_tell("sql SELECT * FROM holdfast.ticket"));
}

/* ---- Clients ---------------------------------------------------------------------- */

static const char *url_with(int ttl_ms)
{
    char params[32];

    snprintf(params, sizeof params, "ttl=%dms", ttl_ms);
    return witness_url(params);
}

void actor_open(struct actor *actor, int ttl_ms, const char *name)
{
    actor_open_url(actor, url_with(ttl_ms), name);
}

void actor_queue(struct actor *actor, size_t waiters)
{
    assert_int_equal(hf_acquire_start(actor->lock, ACTOR_LIMIT_MS), 0);
    witness_await(hf_name(actor->lock), 1, waiters);
}

void rival_start(struct rival *rival, int ttl_ms, const char *name,
                 const struct actor *others, size_t count_of_them)
{
    rival_start_url(rival, url_with(ttl_ms), name, others, count_of_them);
}
