/* history.c - hf_history(). */
#include "client/look/note.h"
#include "client/look/report.h"
#include "client/look/sync_query.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Behind the struct hf_history_report that the user gets. */
struct full_history {
    struct hf_history_report public; /* first */
    struct full_entry              *entry;
    const struct hf_history_entry **each; /* of these */
};

struct full_entry {
    struct hf_history_entry public; /* first */
    struct hf_note note;
    char          *name;
    char          *reason;
};

void hf_history_report_free(struct hf_history_report *history)
{
    struct full_history *all = (struct full_history *)history;

    if (all == NULL)
        return;
    for (size_t i = 0; i < history->count; i++) {
        hf_note_finish(&all->entry[i].note);
        free(all->entry[i].name);
        free(all->entry[i].reason);
    }
    free(all->entry);
    free(all->each);
    free(all);
}

static const char *name_of(char what)
{
    switch (what) {
    case HF_HISTORY_ENTERED:
        return "entered";
    case HF_HISTORY_GRANTED:
        return "granted";
    case HF_HISTORY_RELEASED:
        return "released";
    case HF_HISTORY_LEFT:
        return "left";
    case HF_HISTORY_LOST:
        return "lost";
    case HF_HISTORY_BROKEN:
        return "broken";
    case HF_HISTORY_ASKED:
        return "asked";
    case HF_HISTORY_DOWNGRADED:
        return "lessened";
    default:
        return "unknown"; /* data can be anything */
    }
}

static int fill_entry(struct full_entry *entry, const struct hf_history_row *row)
{
    const struct hf_note *note = &entry->note;

    entry->name = strdup(row->line);
    entry->reason = strdup(row->reason);
    if (entry->name == NULL || entry->reason == NULL ||
        hf_note_decode(row->note, &entry->note) < 0)
        return HF_ENOMEM;
    entry->public = (struct hf_history_entry){
        .number = row->number,
        .time = row->time,
        .what = name_of(row->what),
        .name = entry->name,
        .token = row->token,
        .kind = hf_shape_kind(&row->shape),
        .slot = row->slot,
        .host = note->host,
        .user = note->user,
        .pid = note->pid,
        .command = note->command,
        .note = note->note,
        .reason = entry->reason,
    };
    return 0;
}

int hf_history_report_new(const struct hf_req *req, struct hf_history_report **ret)
{
    size_t               count = req->entries > 0 ? req->entries : 1;
    struct full_history *all = calloc(1, sizeof *all);
    int                  r = 0;

    assert(req->op == HF_HISTORY && req->status == 0);
    if (all == NULL)
        return HF_ENOMEM;
    all->entry = calloc(count, sizeof *all->entry);
    all->each = calloc(count, sizeof *all->each);
    if (all->entry == NULL || all->each == NULL)
        r = HF_ENOMEM;
    else
        all->public = (struct hf_history_report){ .entry = all->each,
                                                  .count = req->entries,
                                                  .last = req->stamp };
    for (size_t i = 0; i < req->entries && r == 0; i++) {
        all->each[i] = &all->entry[i].public;
        r = fill_entry(&all->entry[i], &req->entry[i]);
    }
    if (r < 0) {
        hf_history_report_free(&all->public);
        return r;
    }
    *ret = &all->public;
    return 0;
}

static int read_history(struct hf_client *client, const char *name, uint64_t after,
                        struct hf_limit limit, struct hf_history_report **ret)
{
    struct hf_req         req = { .op = HF_HISTORY, .name = name, .stamp = after };
    struct hf_sync_query *query;

    if (!client->store->impl->recalls)
        return hf_client_fail(client, HF_EUNSUPPORTED,
                              "%s: a store of this kind keeps no history", client->url);
    int r = hf_sync_query_start(client, &req, limit, &query);
    if (r < 0)
        return r;
    r = hf_sync_query_wait(query);
    if (r == 0) {
        *ret = query->history;
        query->history = NULL;
    }
    hf_sync_query_end(query);
    return r;
}

int hf_history(struct hf_client *client, const char *name, uint64_t after,
               int64_t timeout_ms, struct hf_history_report **ret)
{
    int cancel;

    int r = ret != NULL ? hf_sync_query_begin(client, name, true, &cancel) : HF_EINVAL;
    if (r < 0)
        return r;
    r = read_history(client, name, after, hf_client_limit(timeout_ms), ret);
    hf_client_end(client, cancel);
    return r;
}
