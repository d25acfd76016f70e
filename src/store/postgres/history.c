/* history.c - HISTORY: every record that the server tells. */
#include "store/postgres/inner.h"

static const char *text_or_none(const PGresult *result, int row, int column)
{
    const char *text = hf_pg_text(result, row, column);

    return text != NULL ? text : "";
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
