/* history.c - HISTORY: what happened, as far as it is kept.
 *
 * There may be very much of it, and the server may tell it piece by piece.  What was the
 * newest record at the first piece is where we stop.
 */
#include "store/served/served.h"

#include "base/grow.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct hf_served_past {
    struct hf_past *record; /* of each, `line` is ours, with note and reason behind it */
    size_t          count, room;
    uint64_t        newest; /* at the first piece; 0: there was none yet */
    uint64_t        seen;   /* up to there all has been told */
};

static void on_history(struct hf_served_task *task, int code, const void *reply);

void hf_served_past_free(struct hf_served_past *past)
{
    if (past == NULL)
        return;
    for (size_t i = 0; i < past->count; i++)
        free((char *)past->record[i].line);
    free(past->record);
    free(past);
}

bool hf_served_recall(struct hf_served_task *task, const struct hf_past *record)
{
    struct hf_served_past *past = task->past;
    size_t line = strlen(record->line) + 1, note = strlen(record->note) + 1;
    size_t reason = strlen(record->reason) + 1;

    struct hf_past *grown =
        hf_grow(past->record, &past->room, past->count + 1, sizeof *grown);
    char *text = malloc(line + note + reason);
    if (grown != NULL)
        past->record = grown;
    if (grown == NULL || text == NULL) {
        free(text);
        return false;
    }
    struct hf_past *copy = &past->record[past->count++];
    *copy = *record;
    copy->line = memcpy(text, record->line, line);
    copy->note = memcpy(text + line, record->note, note);
    copy->reason = memcpy(text + line + note, record->reason, reason);
    return true;
}

static void ask_for_past(struct hf_served_task *task, uint64_t after)
{
    struct hf_served *served = hf_served_of(task);

    served->ops->begin(task);
    served->ops->add_number(served, after);
    hf_served_send(task, on_history);
}

void hf_served_recalled(struct hf_served_task *task, uint64_t newest, uint64_t seen)
{
    struct hf_served_past *past = task->past;
    struct hf_req         *req = task->base.req;

    if (past->newest == 0)
        past->newest = newest;
    if (seen < past->newest && seen > past->seen) { /* not for ever, whatever it says */
        past->seen = seen;
        ask_for_past(task, seen);
        return;
    }
    req->stamp = past->newest;
    req->past = past->record;
    req->pasts = past->count;
    hf_task_finish(&task->base, 0);
}

static void on_history(struct hf_served_task *task, int code, const void *reply)
{
    if (code == HF_SERVED_NOWHERE)
        hf_task_fail(
            &task->base, HF_ENOTFOUND,
            "no history is kept here; `holdfast history --keep 1000` turns it on");
    else
        hf_served_of(task)->ops->history(task, code, reply);
}

void hf_served_history(struct hf_served_task *task)
{
    task->past = calloc(1, sizeof *task->past);
    if (task->past == NULL)
        hf_task_fail(&task->base, HF_ENOMEM, "out of memory");
    else
        ask_for_past(task, task->base.req->stamp);
}
