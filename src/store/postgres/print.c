/* print.c - the schema as text, for people who run it themselves.
 *
 * grant.sql names the role as psql's variables are: `psql -v role=app -f grant.sql` would
 * do as well.
 */
#include "store/postgres/inner.h"

#include "store/postgres/grant.sql.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    fputs(hf_pg_schema_text(), out);
    if (role != NULL)
        print_grant(out, role);
    if (fclose(out) != 0) {
        free(ret);
        return NULL;
    }
    return ret;
}
