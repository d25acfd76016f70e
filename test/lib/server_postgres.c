/* server_postgres.c - see server_postgres.h. */
#include "lib/server_postgres.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Queries ----------------------------------------------------------------------- */

static const char *ask_sql(const char *format, va_list args)
{
    char question[900], *answer;

    vsnprintf(question, sizeof question, format, args);
    answer = (char *)server_tell("sql %s", question);
    answer[strcspn(answer, "|\n")] = '\0';
    return answer;
}

const char *postgres_ask(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    const char *answer = ask_sql(format, args);
    va_end(args);
    return answer;
}

long postgres_number(const char *format, ...)
{
    va_list args;
    char   *end;

    va_start(args, format);
    const char *answer = ask_sql(format, args);
    va_end(args);
    long ret = strtol(answer, &end, 10);
    if (end == answer || *end != '\0')
        fail_msg("%s: no number: %s", format, answer);
    return ret;
}

/* ---- struct server_kind -------------------------------------------------------- */

static const char *server(void)
{
    static char address[64];
    const char *at = strchr(getenv("HF_PG_URL"), '@') + 1;

    snprintf(address, sizeof address, "%.*s", (int)strcspn(at, "/"), at);
    return address;
}

static void write_url(char *url, size_t size, const char *address, const char *params)
{
    const char *given = getenv("HF_PG_URL"), *at = strchr(given, '@') + 1;

    if (address == NULL) /* the default may name two servers */
        snprintf(url, size, "%s?%s", given, params);
    else
        snprintf(url, size, "%.*s%s%s?%s", (int)(at - given), given, address,
                 strchr(at, '/'), params);
}

static size_t places(const char *name, char state)
{
    return (size_t)postgres_number("SELECT count(*) FROM holdfast.every_place "
                                   "WHERE name = '%s' AND state = '%c'",
                                   name, state);
}

static size_t holders(const char *name)
{
    return places(name, 'g');
}

static size_t waiters(const char *name)
{
    return places(name, 'w');
}

/* Places of expired sessions do not count. */
static const char *leftovers(void)
{
    if (postgres_number("SELECT (SELECT count(*) FROM holdfast.place) + "
                        "(SELECT count(*) FROM holdfast.watch) + "
                        "(SELECT count(*) FROM holdfast.line "
                        "WHERE holders + waiting > 0)") == 0)
        return NULL;
    return server_tell("sql SELECT * FROM holdfast.every_place");
}

const struct server_kind server_kind_postgres = {
    .name = "postgres",
    .control = "HF_PG_CTL",
    .write_url = write_url,
    .server = server,
    .holders = holders,
    .waiters = waiters,
    .leftovers = leftovers,
};
