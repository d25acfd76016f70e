/* list.c - LIST and HISTORY: the rows of the answer as places or history entries. */
#include "store/mariadb/inner.h"

#include <assert.h>

static const char *text_or_none(const struct hf_my_reply *reply, size_t row,
                                size_t column)
{
    const char *text = hf_my_text(reply, row, column);

    return text != NULL ? text : "";
}

/* A row: { 0, stamp, name, seq, weight, capacity, claim, state, slot, since, note,
 * renewal, ttl }.  The first row has only the stamp. */
static struct hf_place parse_place(const struct hf_maria    *maria,
                                   const struct hf_my_reply *reply, size_t row)
{
    uint64_t seq = (uint64_t)hf_my_number(reply, row, 3);

    return (struct hf_place){
        .seq = seq,
        .token = seq,
        .shape = hf_shape_read(hf_my_number(reply, row, 4), hf_my_number(reply, row, 5),
                               hf_my_number(reply, row, 6) != 0),
        .slot = (int)hf_my_number(reply, row, 8),
        .since = hf_my_number(reply, row, 9),
        .left = hf_drawn_left(&maria->expiry.plan.drawn, hf_my_number(reply, row, 11),
                              hf_my_number(reply, row, 12), maria->remote.now),
        .line = text_or_none(reply, row, 2),
        .note = text_or_none(reply, row, 10),
    };
}

void hf_maria_list(struct hf_served_task *task, int code, const void *answer)
{
    const struct hf_my_reply *reply = answer;
    struct hf_place *place = hf_served_places(hf_served_of(task), reply->rows + 1);
    size_t           count = 0;

    (void)code;
    if (place == NULL) {
        hf_task_fail(&task->base, HF_ENOMEM, "out of memory");
        return;
    }
    for (size_t row = 1; row < reply->rows; row++)
        place[count++] =
            parse_place((const struct hf_maria *)hf_served_of(task), reply, row);
    hf_served_listed(task, count, (uint64_t)hf_my_number(reply, 0, 1));
}

/* A row: { 0, number, time, what, name, seq, weight, capacity, claim, slot, note,
 * reason }. The first row has only the number of the newest entry. */
void hf_maria_history(struct hf_served_task *task, int code, const void *answer)
{
    const struct hf_my_reply *reply = answer;
    uint64_t                  newest = (uint64_t)hf_my_number(reply, 0, 1);

    (void)code;
    for (size_t row = 1; row < reply->rows; row++) {
        struct hf_history_row entry = {
            .number = (uint64_t)hf_my_number(reply, row, 1),
            .time = hf_my_number(reply, row, 2),
            .what = text_or_none(reply, row, 3)[0],
            .line = text_or_none(reply, row, 4),
            .token = (uint64_t)hf_my_number(reply, row, 5),
            .shape =
                hf_shape_read(hf_my_number(reply, row, 6), hf_my_number(reply, row, 7),
                              hf_my_number(reply, row, 8) != 0),
            .slot = (int)hf_my_number(reply, row, 9),
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
