/* examine.c - EXAMINE: what a person should know of the database. */
#include "store/postgres/inner.h"

#include "store/findings.h"

/* { sessions, holders, waiters, holders and waiters of the name } */
static void on_looked(struct hf_pg *pg, void *data, const PGresult *result)
{
    struct hf_served_task *task = data;
    struct hf_gathered     list = { 0 };

    if (!hf_pg_answered(pg, task, result, NULL))
        return;
    hf_gather(&list, HF_FINE, "lines", NULL, "%lld hold, %lld wait",
              (long long)hf_pg_number(result, 0, 1),
              (long long)hf_pg_number(result, 0, 2));
    if (task->req->name != NULL)
        hf_gather(&list, HF_FINE, "line", NULL, "%lld hold \"%s\", %lld wait",
                  (long long)hf_pg_number(result, 0, 3), task->req->name,
                  (long long)hf_pg_number(result, 0, 4));
    task->req->finding = list.finding;
    task->req->findings = list.count;
    hf_served_finish(task, list.failed ? HF_ENOMEM : 0);
    hf_gathered_clear(&list);
}

void hf_pg_examine(struct hf_served *served, struct hf_served_task *task)
{
    struct hf_pg *pg = (struct hf_pg *)served;

    hf_pg_begin(pg, HF_PG_LOOK);
    hf_pg_add(pg, task->req->name);
    hf_pg_task_send(pg, task, on_looked);
}
