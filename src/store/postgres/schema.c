/* schema.c - make the schema.
 *
 * All of it is one query, hence one transaction.  A lock at its beginning lets one after
 * the other make it.
 */
#include "store/postgres/inner.h"

#include "store/postgres/schema.sql.h"

#include <assert.h>

const char *hf_pg_schema_text(void)
{
    return schema_sql;
}

void hf_pg_schema_make(struct hf_pg *pg, hf_pg_on_result *done)
{
    assert(pg->dial.phase == HF_DIAL_GREETING); /* no verb has been called yet */
    hf_pg_query(pg, &pg->link.schema, schema_sql, done, NULL);
}
