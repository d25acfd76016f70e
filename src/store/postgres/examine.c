/* examine.c - EXAMINE: what a person should know of the database.
 *
 * One query asks all of it.  What the server does not show to this user is NULL, and left
 * out.
 */
#include "store/postgres/examine.h"

#include <stdlib.h>
#include <string.h>

/* ---- What it said --------------------------------------------------------------- */

const char *hf_pg_told(const struct hf_pg_examine *examine, const char *column)
{
    const char *text = hf_pg_text(examine->result, 0, PQfnumber(examine->result, column));

    return text != NULL ? text : "";
}

int64_t hf_pg_told_number(const struct hf_pg_examine *examine, const char *column)
{
    return strtoll(hf_pg_told(examine, column), NULL, 10);
}

double hf_pg_told_real(const struct hf_pg_examine *examine, const char *column)
{
    return strtod(hf_pg_told(examine, column), NULL);
}

bool hf_pg_told_is(const struct hf_pg_examine *examine, const char *column,
                   const char *value)
{
    return strcmp(hf_pg_told(examine, column), value) == 0;
}

/* ---- The answer ----------------------------------------------------------------- */

static void tell_postgres(struct hf_pg *pg, struct hf_served_task *task,
                          const struct hf_pg_examine *examine)
{
    struct hf_finding_list list = { 0 };

    hf_pg_server_tell(pg, examine, &list);
    hf_pg_data_tell(examine, task->base.req->name, &list);
    hf_served_findings(task, &list);
}

/* Its clock was read at some time between asking and answer. */
static void on_examined(struct hf_served_task *task, int code, const void *reply)
{
    hf_time              sent = ((struct hf_pg_task *)task)->call.sent;
    struct hf_pg_examine examine = { .result = reply, .took = hf_now() - sent };

    (void)code;
    examine.ahead =
        hf_pg_told_number(&examine, "clock") - (hf_wall_us() - examine.took / 2000);
    tell_postgres((struct hf_pg *)hf_served_of(task), task, &examine);
}

void hf_pg_examine(struct hf_served_task *task)
{
    hf_pg_task_begin(task);
    hf_served_send(task, on_examined);
}
