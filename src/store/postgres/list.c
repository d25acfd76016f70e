/* list.c - LIST and HISTORY: every place, or record, that the server tells. */
#include "store/postgres/inner.h"

#include <assert.h>

static const char *text_or_none(const PGresult *result, int row, int column)
{
    const char *text = hf_pg_text(result, row, column);

    return text != NULL ? text : "";
}

/* { 0, stamp, name, seq, weight, capacity, claim, state, slot, since, note, renewal, ttl };
 * of the first row the stamp alone counts. */
static struct hf_ticket parse_ticket(const struct hf_pg *pg, const PGresult *result,
                                     int row)
{
    uint64_t seq = (uint64_t)hf_pg_number(result, row, 3);

    return (struct hf_ticket){
        .seq = seq,
        .token = seq,
        .shape = hf_shape_read(hf_pg_number(result, row, 4), hf_pg_number(result, row, 5),
                               hf_pg_bool(result, row, 6)),
        .slot = (int)hf_pg_number(result, row, 8),
        .since = hf_pg_number(result, row, 9),
        .left = hf_pg_observe_left(pg, hf_pg_number(result, row, 11),
                                   hf_pg_number(result, row, 12)),
        .line = text_or_none(result, row, 2),
        .note = text_or_none(result, row, 10),
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

/* { 0, number, time, what, name, seq, weight, capacity, claim, slot, note, reason }; of the
 * first row the number alone counts: the newest. */
void hf_pg_history(struct hf_served_task *task, int code, const void *reply)
{
    uint64_t newest = (uint64_t)hf_pg_number(reply, 0, 1);

    (void)code;
    for (int row = 1; row < PQntuples(reply); row++) {
        struct hf_past past = {
            .number = (uint64_t)hf_pg_number(reply, row, 1),
            .time = hf_pg_number(reply, row, 2),
            .what = text_or_none(reply, row, 3)[0],
            .line = text_or_none(reply, row, 4),
            .token = (uint64_t)hf_pg_number(reply, row, 5),
            .shape =
                hf_shape_read(hf_pg_number(reply, row, 6), hf_pg_number(reply, row, 7),
                              hf_pg_bool(reply, row, 8)),
            .slot = (int)hf_pg_number(reply, row, 9),
            .note = text_or_none(reply, row, 10),
            .reason = text_or_none(reply, row, 11),
        };
        if (!hf_served_recall(task, &past)) {
            hf_task_fail(&task->base, HF_ENOMEM, "out of memory");
            return;
        }
    }
    hf_served_recalled(task, newest, newest);
}
