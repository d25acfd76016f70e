/* schema.c - print the schema for an administrator, or make it.
 *
 * It is one statement, so one transaction, also for a psql without -1.  A lock at its
 * beginning makes clients that create it at the same time wait for each other.
 *
 * grant.sql has the role as a variable of psql, so `psql -v role=app -f grant.sql`
 * works, too.
 */
#include "store/postgres/inner.h"

#include "store/postgres/grant.sql.h"
#include "store/postgres/schema.sql.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const unsigned hf_pg_schema_version = 6 + HF_LAYOUT_BUMP;

#define ROLE ":\"role\""

static void print_name(FILE *out, const char *name)
{
    fputc('"', out);
    for (; *name != '\0'; name++)
        fprintf(out, *name == '"' ? "\"\"" : "%c", *name);
    fputc('"', out);
}

static void print_grant(FILE *out, const char *role)
{
    const char *text = grant_sql, *at;

    fputc('\n', out);
    while ((at = strstr(text, ROLE)) != NULL) {
        fprintf(out, "%.*s", (int)(at - text), text);
        print_name(out, role);
        text = at + strlen(ROLE);
    }
    fputs(text, out);
}

char *hf_pg_schema_print(const char *role)
{
    char  *ret = NULL;
    size_t size;
    FILE  *out = open_memstream(&ret, &size);

    if (out == NULL)
        return NULL;
    fprintf(out,
            "DO $holdfast$ BEGIN\n"
            "PERFORM pg_catalog.set_config('holdfast.version', '%u', true);\n",
            hf_pg_schema_version);
    fprintf(out, "%sEND $holdfast$;\n", schema_sql);
    if (role != NULL)
        print_grant(out, role);
    if (fclose(out) != 0) {
        free(ret);
        return NULL;
    }
    return ret;
}

void hf_pg_schema_make(struct hf_pg *pg, hf_pg_on_result *done)
{
    char *text = hf_pg_schema_print(NULL);

    assert(pg->dial.phase == HF_DIAL_GREETING); /* no verb has been called yet */
    if (text == NULL)
        hf_dial_break(&pg->dial, "cannot be asked: out of memory");
    else
        hf_pg_query(pg, &pg->link.schema, text, done, NULL);
    free(text);
}
