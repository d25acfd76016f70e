/* history.c - HISTORY: every record that the server tells, a piece at a time.
 *
 * A record is kept as a place is: what happened stands for its state, and when for since
 * when.  Behind a zero byte there is why somebody asked.
 */
#include "store/redis/inner.h"

#define FIRST 3 /* part of the answer that is a number, and the next its record */

static bool read_record(const redisReply *part, struct hf_past *ret)
{
    struct hf_ticket place;

    if (part->type != REDIS_REPLY_STRING)
        return false;
    char        what = part->str[0];
    const char *reason = hf_redis_behind(part);
    if (!hf_redis_ticket_parse(part->str, &place))
        return false;
    *ret = (struct hf_past){
        .time = place.since,
        .what = what,
        .line = place.line,
        .token = place.token,
        .shape = place.shape,
        .slot = place.slot,
        .note = place.note,
        .reason = reason,
    };
    return true;
}

/* { 0, newest, seen, number, record, ... }.  What cannot be read is left out. */
void hf_redis_history(struct hf_served_task *task, int code, const void *data)
{
    const redisReply *reply = data;
    struct hf_past    past;

    (void)code;
    for (size_t i = FIRST; i + 1 < reply->elements; i += 2) {
        if (!read_record(reply->element[i + 1], &past))
            continue;
        past.number = (uint64_t)hf_redis_number(reply, i);
        if (!hf_served_recall(task, &past)) {
            hf_task_fail(&task->base, HF_ENOMEM, "out of memory");
            return;
        }
    }
    hf_served_recalled(task, (uint64_t)hf_redis_number(reply, 1),
                       (uint64_t)hf_redis_number(reply, 2));
}
