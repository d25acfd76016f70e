/* history.c - hf_history(): see history.h. */
#include "client/history.h"

#include "client/note.h"
#include "client/query.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* What a user's history really is. */
struct full_history {
    struct hf_records public; /* first */
    struct full_record      *record;
    const struct hf_record **each; /* of these */
};

struct full_record {
    struct hf_record public; /* first */
    struct hf_note note;
    char          *name;
    char          *reason;
};

void hf_records_free(struct hf_records *history)
{
    struct full_history *all = (struct full_history *)history;

    if (all == NULL)
        return;
    for (size_t i = 0; i < history->count; i++) {
        hf_note_finish(&all->record[i].note);
        free(all->record[i].name);
        free(all->record[i].reason);
    }
    free(all->record);
    free(all->each);
    free(all);
}

static const char *name_of(char what)
{
    switch (what) {
    case HF_PAST_ENTERED:
        return "entered";
    case HF_PAST_GRANTED:
        return "granted";
    case HF_PAST_RELEASED:
        return "released";
    case HF_PAST_LEFT:
        return "left";
    case HF_PAST_LOST:
        return "lost";
    case HF_PAST_BROKEN:
        return "broken";
    case HF_PAST_ASKED:
        return "asked";
    case HF_PAST_LESSENED:
        return "lessened";
    default:
        return "unknown"; /* data can be anything */
    }
}

static int fill_record(struct full_record *record, const struct hf_past *past)
{
    const struct hf_note *note = &record->note;

    record->name = strdup(past->line);
    record->reason = strdup(past->reason);
    if (record->name == NULL || record->reason == NULL ||
        hf_note_decode(past->note, &record->note) < 0)
        return HF_ENOMEM;
    record->public = (struct hf_record){
        .number = past->number,
        .time = past->time,
        .what = name_of(past->what),
        .name = record->name,
        .token = past->token,
        .kind = hf_shape_kind(&past->shape),
        .slot = past->slot,
        .host = note->host,
        .user = note->user,
        .pid = note->pid,
        .command = note->command,
        .note = note->note,
        .reason = record->reason,
    };
    return 0;
}

int hf_records_new(const struct hf_req *req, struct hf_records **ret)
{
    size_t               count = req->pasts > 0 ? req->pasts : 1;
    struct full_history *all = calloc(1, sizeof *all);
    int                  r = 0;

    assert(req->op == HF_HISTORY && req->status == 0);
    if (all == NULL)
        return HF_ENOMEM;
    all->record = calloc(count, sizeof *all->record);
    all->each = calloc(count, sizeof *all->each);
    if (all->record == NULL || all->each == NULL)
        r = HF_ENOMEM;
    else
        all->public = (struct hf_records){ .record = all->each,
                                           .count = req->pasts,
                                           .last = req->stamp };
    for (size_t i = 0; i < req->pasts && r == 0; i++) {
        all->each[i] = &all->record[i].public;
        r = fill_record(&all->record[i], &req->past[i]);
    }
    if (r < 0) {
        hf_records_free(&all->public);
        return r;
    }
    *ret = &all->public;
    return 0;
}

static int recall(struct hf_client *client, const char *name, uint64_t after,
                  struct hf_limit limit, struct hf_records **ret)
{
    struct hf_req    req = { .op = HF_HISTORY, .name = name, .stamp = after };
    struct hf_query *query;

    if (!client->store->impl->recalls)
        return hf_client_fail(client, HF_EUNSUPPORTED,
                              "%s: a store of this kind keeps no history", client->url);
    int r = hf_query_start(client, &req, limit, &query);
    if (r < 0)
        return r;
    r = hf_query_wait(query);
    if (r == 0) {
        *ret = query->history;
        query->history = NULL;
    }
    hf_query_end(query);
    return r;
}

int hf_history(struct hf_client *client, const char *name, uint64_t after,
               int64_t timeout_ms, struct hf_records **ret)
{
    int cancel;

    int r = ret != NULL ? hf_query_begin(client, name, true, &cancel) : HF_EINVAL;
    if (r < 0)
        return r;
    r = recall(client, name, after, hf_client_limit(timeout_ms), ret);
    hf_client_end(client, cancel);
    return r;
}
