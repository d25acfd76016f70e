/* list.c - LIST: every place in one line, or in all. */
#include "store/postgres/inner.h"

/* { stamp, name, seq, weight, capacity, claim, state, slot, since, note } */
static struct hf_ticket parse(const PGresult *result, int row)
{
    uint64_t    seq = (uint64_t)hf_pg_number(result, row, 2);
    const char *name = hf_pg_text(result, row, 1), *note = hf_pg_text(result, row, 9);

    return (struct hf_ticket){
        .seq = seq,
        .token = seq,
        .shape = hf_shape_read(hf_pg_number(result, row, 3), hf_pg_number(result, row, 4),
                               hf_pg_bool(result, row, 5)),
        .slot = (int)hf_pg_number(result, row, 7),
        .since = hf_pg_number(result, row, 8),
        .line = name != NULL ? name : "",
        .note = note != NULL ? note : "",
    };
}

static void on_listed(struct hf_pg *pg, void *data, const PGresult *result)
{
    struct hf_served_task *task = data;
    size_t                 count = 0;

    if (!hf_pg_answered(pg, task, result, NULL))
        return;
    struct hf_ticket *ticket =
        hf_served_tickets(&pg->served, (size_t)PQntuples(result) + 1);
    if (ticket == NULL) {
        hf_task_fail(&task->base, HF_ENOMEM, "out of memory");
        return;
    }
    for (int row = 1; row < PQntuples(result); row++)
        ticket[count++] = parse(result, row);
    hf_served_list(task, ticket, count, (uint64_t)hf_pg_number(result, 0, 0));
}

void hf_pg_list(struct hf_served *served, struct hf_served_task *task)
{
    struct hf_pg *pg = (struct hf_pg *)served;

    hf_pg_begin(pg, HF_PG_LIST);
    hf_pg_add(pg, task->base.req->name); /* NULL: all */
    hf_pg_task_send(pg, task, on_listed);
}
