/* schema.c - print tables and functions for an administrator, or make them.
 *
 * The statements of schema.sql end with "//".  They are sent one after the other:
 *
 *     CREATE DATABASE --> USE --> GET_LOCK --> is it there? --> schema.sql --> RELEASE_LOCK
 *                                                  |                              ^
 *                                                  +---- yes: of our version -----+
 *
 * Only one client at a time has the lock; others come again a moment later.  If we may
 * not create the account holdfast@localhost, or functions in its name, we begin again
 * without it: then the functions have our own rights.
 */
#include "store/mariadb/inner.h"

#include "store/mariadb/grant.sql.h"
#include "store/mariadb/schema.sql.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define END       "//\n"
#define DELIMITER "DELIMITER //\n" /* for mariadb(1) alone */
#define ACCOUNT   "holdfast@localhost"
#define DEFINER   "DEFINER = " ACCOUNT " "
#define ROLE      "@role@"

const unsigned hf_maria_schema_version = 2 + HF_LAYOUT_BUMP;

/* ---- Printing --------------------------------------------------------------------- */

/* "user@host" or "user": each part in backquotes. */
static void print_role(FILE *out, const char *role)
{
    const char *host = strrchr(role, '@');

    fputc('`', out);
    for (const char *at = role; *at != '\0'; at++)
        fprintf(out, *at == '`' ? "``" : at == host ? "`@`" : "%c", *at);
    fputc('`', out);
}

char *hf_maria_schema_print(const char *role)
{
    char       *ret = NULL;
    size_t      size;
    FILE       *out = open_memstream(&ret, &size);
    const char *text = grant_sql, *at;

    if (out == NULL)
        return NULL;
    fprintf(out, "SET @hf_version = %u;\n", hf_maria_schema_version);
    fputs(schema_sql, out);
    if (role != NULL) {
        fputc('\n', out);
        while ((at = strstr(text, ROLE)) != NULL) {
            fprintf(out, "%.*s", (int)(at - text), text);
            print_role(out, role);
            text = at + strlen(ROLE);
        }
        fputs(text, out);
    }
    if (fclose(out) != 0) {
        free(ret);
        return NULL;
    }
    return ret;
}

/* ---- Making ----------------------------------------------------------------------- */

enum step { DATABASE, USE, LOCK, LOOK, VERSION, STATEMENTS, UNLOCK };

static void send_step(struct hf_maria *maria);

/* The next statement of schema.sql that is for us; its length, or 0: there are no more. */
static size_t next_statement(struct hf_maria_schema *schema)
{
    const char *end;

    while ((end = strstr(schema->at, END)) != NULL) {
        size_t length = (size_t)(end - schema->at);
        char  *named = memmem(schema->at, length, ACCOUNT, strlen(ACCOUNT));
        if (!schema->weak || named == NULL ||
            memmem(schema->at, length, DEFINER, strlen(DEFINER)) != NULL)
            return length;
        schema->at = end + strlen(END);
    }
    return 0;
}

/* A copy, without the account if we may not use that; NULL: no memory. */
static char *copy_statement(const struct hf_maria_schema *schema, size_t length)
{
    char *copy = strndup(schema->at, length);
    char *named = copy != NULL && schema->weak ? strstr(copy, DEFINER) : NULL;

    if (named != NULL)
        memmove(named, named + strlen(DEFINER), strlen(named + strlen(DEFINER)) + 1);
    return copy;
}

static bool is_forbidden(const struct hf_my_reply *reply)
{
    return reply->error == 1227 || reply->error == 1044 || reply->error == 1142 ||
           reply->error == 1370 || reply->error == 1410;
}

static void finish(struct hf_maria *maria, const struct hf_my_reply *reply)
{
    maria->schema.done(maria, NULL, reply);
}

/* Go on, or begin again without the account, or give up. */
static void on_statement(struct hf_maria *maria, const struct hf_my_reply *reply)
{
    struct hf_maria_schema *schema = &maria->schema;

    if (reply->error == 0) {
        schema->at = strstr(schema->at, END) + strlen(END);
    } else if (is_forbidden(reply) && !schema->weak) {
        schema->weak = true;
        schema->at = strstr(schema_sql, DELIMITER) + strlen(DELIMITER);
    } else {
        finish(maria, reply); /* the lock ends with the connection */
        return;
    }
    send_step(maria);
}

static void on_step(struct hf_maria *maria, void *data, const struct hf_my_reply *reply)
{
    struct hf_maria_schema *schema = &maria->schema;

    (void)data;
    if (reply == NULL) {
        finish(maria, NULL);
        return;
    }
    if (schema->step == STATEMENTS) {
        on_statement(maria, reply);
    } else if (schema->step == UNLOCK || (schema->step == USE && reply->error != 0)) {
        finish(maria, reply);
    } else if (schema->step == LOCK && reply->error == 0 &&
               hf_my_number(reply, 0, 0) != 1) {
        hf_dial_break(&maria->main.dial, "is being prepared by another client");
    } else { /* whether there is a database, the next step tells */
        bool there = schema->step == LOOK && reply->error == 0 &&
                     hf_my_number(reply, 0, 0) == hf_maria_schema_version &&
                     hf_my_number(reply, 0, 1) > 0;
        schema->step = there ? UNLOCK : schema->step + 1;
        send_step(maria);
    }
}

static void send_text(struct hf_maria *maria, const char *format, const char *name)
{
    char text[256];
    int  used = snprintf(text, sizeof text, format, name);

    assert(used > 0 && (size_t)used < sizeof text);
    hf_maria_query(maria, &maria->schema.call, text, on_step, NULL);
}

static void send_statement(struct hf_maria *maria)
{
    size_t length = next_statement(&maria->schema);

    if (length == 0) {
        maria->schema.step = UNLOCK;
        send_step(maria);
        return;
    }
    char *text = copy_statement(&maria->schema, length);
    if (text == NULL)
        hf_dial_break(&maria->main.dial, "cannot be asked: out of memory");
    else
        hf_maria_query(maria, &maria->schema.call, text, on_step, NULL);
    free(text);
}

static void send_step(struct hf_maria *maria)
{
    const char *database = maria->config.database;
    char        version[16];

    switch ((enum step)maria->schema.step) {
    case DATABASE:
        send_text(maria, "CREATE DATABASE IF NOT EXISTS `%s`", database);
        break;
    case USE:
        send_text(maria, "USE `%s`", database);
        break;
    case LOCK:
        send_text(maria, "SELECT GET_LOCK('holdfast %.40s', 0)", database);
        break;
    case LOOK:
        send_text(
            maria,
            "SELECT version, (SELECT COUNT(*) FROM information_schema.ROUTINES WHERE "
            "ROUTINE_SCHEMA = '%s' AND ROUTINE_NAME = 'hf_hello') FROM hf_head",
            database);
        break;
    case VERSION:
        snprintf(version, sizeof version, "%u", hf_maria_schema_version);
        send_text(maria, "SET @hf_version = %s", version);
        break;
    case STATEMENTS:
        send_statement(maria);
        break;
    case UNLOCK:
        send_text(maria, "DO RELEASE_LOCK('holdfast %.40s')", database);
        break;
    }
}

void hf_maria_schema_make(struct hf_maria *maria, hf_maria_on_reply *done)
{
    struct hf_maria_schema *schema = &maria->schema;

    assert(maria->main.dial.phase == HF_DIAL_GREETING); /* no verb has been called yet */
    schema->at = strstr(schema_sql, DELIMITER) + strlen(DELIMITER);
    schema->weak = false;
    schema->step = DATABASE;
    schema->done = done;
    send_step(maria);
}
