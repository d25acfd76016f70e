/* diagnose.c - DIAGNOSE: what a person should know about the database.
 *
 * One query asks for everything.  A fact that the server does not show to this user is
 * NULL, and is left out.
 */
#include "store/postgres/verbs/diagnose.h"

#include <stdlib.h>
#include <string.h>

/* ---- Facts ---------------------------------------------------------------------- */

/* Numbers from a server are cut off here, so that no sum overflows. */
#define NUMBER_MAX ((int64_t)1 << 60)

const char *hf_pg_fact(const struct hf_pg_diagnose *diagnose, const char *column)
{
    const char *text =
        hf_pg_text(diagnose->result, 0, PQfnumber(diagnose->result, column));

    return text != NULL ? text : "";
}

int64_t hf_pg_fact_number(const struct hf_pg_diagnose *diagnose, const char *column)
{
    int64_t number = strtoll(hf_pg_fact(diagnose, column), NULL, 10);

    return number > NUMBER_MAX ? NUMBER_MAX : number < -NUMBER_MAX ? -NUMBER_MAX : number;
}

double hf_pg_fact_real(const struct hf_pg_diagnose *diagnose, const char *column)
{
    return strtod(hf_pg_fact(diagnose, column), NULL);
}

bool hf_pg_fact_is(const struct hf_pg_diagnose *diagnose, const char *column,
                   const char *value)
{
    return strcmp(hf_pg_fact(diagnose, column), value) == 0;
}

/* ---- The answer ----------------------------------------------------------------- */

static void report_postgres(struct hf_pg *pg, struct hf_served_task *task,
                            const struct hf_pg_diagnose *diagnose)
{
    struct hf_finding_list list = { 0 };

    hf_pg_report_server(pg, diagnose, &list);
    hf_pg_report_data(diagnose, task->base.req->name, &list);
    hf_served_findings(task, &list);
}

/* The server read its clock some time between our question and its answer. */
static void on_diagnosed(struct hf_served_task *task, int code, const void *reply)
{
    hf_time               sent = ((struct hf_pg_task *)task)->call.sent;
    struct hf_pg_diagnose diagnose = { .result = reply, .took = hf_now() - sent };

    (void)code;
    diagnose.ahead =
        hf_pg_fact_number(&diagnose, "clock") - (hf_wall_us() - diagnose.took / 2000);
    report_postgres((struct hf_pg *)hf_served_of(task), task, &diagnose);
}

void hf_pg_diagnose(struct hf_served_task *task)
{
    hf_pg_task_begin(task);
    hf_served_send(task, on_diagnosed);
}
