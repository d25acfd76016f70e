/* list.c - LIST: every place that the server tells. */
#include "store/postgres/inner.h"

#include <assert.h>

/* { 0, stamp, name, seq, weight, capacity, claim, state, slot, since, note, renewal, ttl };
 * of the first row the stamp alone counts. */
static struct hf_ticket parse_ticket(const struct hf_pg *pg, const PGresult *result,
                                     int row)
{
    uint64_t    seq = (uint64_t)hf_pg_number(result, row, 3);
    const char *name = hf_pg_text(result, row, 2), *note = hf_pg_text(result, row, 10);

    return (struct hf_ticket){
        .seq = seq,
        .token = seq,
        .shape = hf_shape_read(hf_pg_number(result, row, 4), hf_pg_number(result, row, 5),
                               hf_pg_bool(result, row, 6)),
        .slot = (int)hf_pg_number(result, row, 8),
        .since = hf_pg_number(result, row, 9),
        .left = hf_pg_observe_left(pg, hf_pg_number(result, row, 11),
                                   hf_pg_number(result, row, 12)),
        .line = name != NULL ? name : "",
        .note = note != NULL ? note : "",
    };
}

void hf_pg_list(struct hf_served_task *task, int code, const void *reply)
{
    int               rows = PQntuples(reply);
    struct hf_ticket *ticket = hf_served_tickets(hf_served_of(task), (size_t)rows + 1);
    size_t            count = 0;

    (void)code;
    if (ticket == NULL) {
        hf_task_fail(&task->base, HF_ENOMEM, "out of memory");
        return;
    }
    for (int row = 1; row < rows; row++)
        ticket[count++] =
            parse_ticket((const struct hf_pg *)hf_served_of(task), reply, row);
    hf_served_listed(task, count, (uint64_t)hf_pg_number(reply, 0, 1));
}
