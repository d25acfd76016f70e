/* server_mariadb.c - see server_mariadb.h. */
#include "lib/server_mariadb.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char database[65] = "test";

void mariadb_use(const char *name)
{
    snprintf(database, sizeof database, "%s", name);
    server_tell("sql CREATE DATABASE IF NOT EXISTS `%s`; "
                "GRANT ALL ON `%s`.* TO tester@'%%'",
                name, name);
}

/* ---- Queries ----------------------------------------------------------------------- */

static const char *ask_sql(const char *format, va_list args)
{
    char question[900], *answer;

    vsnprintf(question, sizeof question, format, args);
    answer = (char *)server_tell("sql USE `%s`; %s", database, question);
    answer[strcspn(answer, "|\n")] = '\0';
    return answer;
}

const char *mariadb_ask(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    const char *answer = ask_sql(format, args);
    va_end(args);
    return answer;
}

long mariadb_number(const char *format, ...)
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
    const char *at = strchr(getenv("HF_MARIADB_URL"), '@') + 1;

    snprintf(address, sizeof address, "%.*s", (int)strcspn(at, "/"), at);
    return address;
}

static void write_url(char *url, size_t size, const char *address, const char *params)
{
    const char *given = getenv("HF_MARIADB_URL"), *at = strchr(given, '@') + 1;

    snprintf(url, size, "%.*s%s/%s?%s", (int)(at - given), given,
             address != NULL ? address : server(), database, params);
}

static size_t places(const char *name, char state)
{
    return (size_t)mariadb_number("SELECT COUNT(*) FROM hf_place "
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
    if (mariadb_number("SELECT (SELECT COUNT(*) FROM hf_place) + "
                       "(SELECT COUNT(*) FROM hf_watch) + "
                       "(SELECT COUNT(*) FROM hf_line WHERE holders + waiting > 0)") == 0)
        return NULL;
    return server_tell("sql SELECT * FROM `%s`.hf_place", database);
}

const struct server_kind server_kind_mariadb = {
    .name = "mariadb",
    .control = "HF_MARIADB_CTL",
    .write_url = write_url,
    .server = server,
    .holders = holders,
    .waiters = waiters,
    .leftovers = leftovers,
};
