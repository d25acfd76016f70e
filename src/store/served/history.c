/* history.c - HISTORY: what happened, as far as the server keeps it.
 *
 * The server may send it in pieces.  We stop at the entry that was the newest one when
 * the first piece was sent.
 */
#include "store/served/served.h"

#include "base/grow.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct hf_served_entries {
    struct hf_history_row *entry; /* each owns `line`, with note and reason behind it */
    size_t                 count, room;
    uint64_t               newest; /* at the first piece; 0: no piece yet */
    uint64_t               seen;   /* number of the last entry covered */
};

static void on_history(struct hf_served_task *task, int code, const void *reply);

void hf_served_entries_free(struct hf_served_entries *entries)
{
    if (entries == NULL)
        return;
    for (size_t i = 0; i < entries->count; i++)
        free((char *)entries->entry[i].line);
    free(entries->entry);
    free(entries);
}

bool hf_served_history_add(struct hf_served_task       *task,
                           const struct hf_history_row *entry)
{
    struct hf_served_entries *entries = task->entries;
    size_t line = strlen(entry->line) + 1, note = strlen(entry->note) + 1;
    size_t reason = strlen(entry->reason) + 1;

    struct hf_history_row *grown =
        hf_grow(entries->entry, &entries->room, entries->count + 1, sizeof *grown);
    char *text = malloc(line + note + reason);
    if (grown != NULL)
        entries->entry = grown;
    if (grown == NULL || text == NULL) {
        free(text);
        return false;
    }
    struct hf_history_row *copy = &entries->entry[entries->count++];
    *copy = *entry;
    copy->line = memcpy(text, entry->line, line);
    copy->note = memcpy(text + line, entry->note, note);
    copy->reason = memcpy(text + line + note, entry->reason, reason);
    return true;
}

static void ask_for_history(struct hf_served_task *task, uint64_t after)
{
    struct hf_served *served = hf_served_of(task);

    served->ops->begin(task);
    served->ops->add_number(served, after);
    hf_served_send(task, on_history);
}

void hf_served_history_piece(struct hf_served_task *task, uint64_t newest, uint64_t seen)
{
    struct hf_served_entries *entries = task->entries;
    struct hf_req            *req = task->base.req;

    if (entries->newest == 0)
        entries->newest = newest;
    if (seen < entries->newest && seen > entries->seen) { /* progress: no endless loop */
        entries->seen = seen;
        ask_for_history(task, seen);
        return;
    }
    req->stamp = entries->newest;
    req->entry = entries->entry;
    req->entries = entries->count;
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
    task->entries = calloc(1, sizeof *task->entries);
    if (task->entries == NULL)
        hf_task_fail(&task->base, HF_ENOMEM, "out of memory");
    else
        ask_for_history(task, task->base.req->stamp);
}
