/* list.c - LIST and HISTORY: the rows of the answer as places or history entries. */
#include "store/postgres/inner.h"

#include <assert.h>

static const char *text_or_none(const PGresult *result, int row, int column)
{
    const char *text = hf_pg_text(result, row, column);

    return text != NULL ? text : "";
}

/* A row: { 0, stamp, name, seq, weight, capacity, claim, state, slot, since, note,
 * renewal, ttl }.  The first row has only the stamp. */
static struct hf_place parse_place(const struct hf_pg *pg, const PGresult *result,
                                   int row)
{
    uint64_t seq = (uint64_t)hf_pg_number(result, row, 3);

    return (struct hf_place){
        .seq = seq,
        .token = seq,
        .shape = hf_shape_read(hf_pg_number(result, row, 4), hf_pg_number(result, row, 5),
                               hf_pg_bool(result, row, 6)),
        .slot = (int)hf_pg_number(result, row, 8),
        .since = hf_pg_number(result, row, 9),
        .left = hf_drawn_left(&pg->expiry.plan.drawn, hf_pg_number(result, row, 11),
                              hf_pg_number(result, row, 12), pg->remote.now),
        .line = text_or_none(result, row, 2),
        .note = text_or_none(result, row, 10),
    };
}

void hf_pg_list(struct hf_served_task *task, int code, const void *reply)
{
    int              rows = PQntuples(reply);
    struct hf_place *place = hf_served_places(hf_served_of(task), (size_t)rows + 1);
    size_t           count = 0;

    (void)code;
    if (place == NULL) {
        hf_task_fail(&task->base, HF_ENOMEM, "out of memory");
        return;
    }
    for (int row = 1; row < rows; row++)
        place[count++] =
            parse_place((const struct hf_pg *)hf_served_of(task), reply, row);
    hf_served_listed(task, count, (uint64_t)hf_pg_number(reply, 0, 1));
}

/* A row: { 0, number, time, what, name, seq, weight, capacity, claim, slot, note,
 * reason }. The first row has only the number of the newest entry. */
void hf_pg_history(struct hf_served_task *task, int code, const void *reply)
{
    uint64_t newest = (uint64_t)hf_pg_number(reply, 0, 1);

    (void)code;
    for (int row = 1; row < PQntuples(reply); row++) {
        struct hf_history_row entry = {
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
        if (!hf_served_history_add(task, &entry)) {
            hf_task_fail(&task->base, HF_ENOMEM, "out of memory");
            return;
        }
    }
    hf_served_history_piece(task, newest, newest);
}
