/* report.c - see report.h. */
#include "client/look/report.h"

#include "client/look/note.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Behind the struct hf_report that the user gets. */
struct full_report {
    struct hf_report public; /* first */
    atomic_uint             owners;
    uint64_t                stamp;
    struct hf_entry        *entry;
    const struct hf_entry **each; /* of these */
    struct hf_note         *note;
    char                  **name;
};

static struct full_report *full(const struct hf_report *report)
{
    return (struct full_report *)report;
}

void hf_report_free(struct hf_report *report)
{
    if (report == NULL)
        return;
    struct full_report *all = full(report);
    if (atomic_fetch_sub(&all->owners, 1) > 1)
        return;
    for (size_t i = 0; i < report->count; i++) {
        hf_note_finish(&all->note[i]);
        free(all->name[i]);
    }
    free(all->entry);
    free(all->each);
    free(all->note);
    free(all->name);
    free(all);
}

struct hf_report *hf_report_share(struct hf_report *report)
{
    atomic_fetch_add(&full(report)->owners, 1);
    return report;
}

uint64_t hf_report_stamp(const struct hf_report *report)
{
    return full(report)->stamp;
}

static int64_t left_ms(int64_t left)
{
    if (left <= 0)
        return -1;
    return left == INT64_MAX ? left : left / 1000;
}

static int fill_entry(struct full_report *all, size_t i, const struct hf_place *place,
                      bool held)
{
    struct hf_note *note = &all->note[i];
    bool            invalid = hf_shape_invalid(&place->shape);

    all->name[i] = strdup(place->line);
    if (all->name[i] == NULL || hf_note_decode(place->note, note) < 0)
        return HF_ENOMEM;
    all->each[i] = &all->entry[i];
    all->entry[i] = (struct hf_entry){
        .name = all->name[i],
        .kind = hf_shape_kind(&place->shape),
        .held = held,
        .token = place->token,
        .since = place->since > 0 ? place->since : 0,
        .weight = invalid ? 0 : place->shape.weight,
        .capacity = invalid ? 0 : place->shape.capacity,
        .slot = place->slot,
        .host = note->host,
        .user = note->user,
        .pid = note->pid,
        .command = note->command,
        .note = note->note,
        .left_ms = left_ms(place->left),
        .version = note->version,
    };
    return 0;
}

/* A new line begins wherever the name changes. */
static int fill_entries(struct full_report *all, const struct hf_line *line)
{
    struct hf_sum ahead = { 0 };
    int           r = 0;

    for (size_t i = 0; r == 0 && i < line->count; i++) {
        const struct hf_place *place = &line->place[i];
        if (i > 0 && strcmp(place->line, place[-1].line) != 0)
            ahead = (struct hf_sum){ 0 };
        r = fill_entry(all, i, place, hf_sum_next(&ahead, &place->shape));
    }
    return r;
}

int hf_report_new(const struct hf_line *line, uint64_t stamp, struct hf_report **ret)
{
    struct full_report *all = calloc(1, sizeof *all);
    if (all == NULL)
        return HF_ENOMEM;

    size_t count = line->count > 0 ? line->count : 1;
    all->stamp = stamp;
    all->owners = 1;
    all->entry = calloc(count, sizeof *all->entry);
    all->each = calloc(count, sizeof *all->each);
    all->note = calloc(count, sizeof *all->note);
    all->name = calloc(count, sizeof *all->name);
    bool made =
        all->entry != NULL && all->each != NULL && all->note != NULL && all->name != NULL;
    if (made)
        all->public = (struct hf_report){ .entry = all->each, .count = line->count };
    if (!made || fill_entries(all, line) < 0) {
        hf_report_free(&all->public);
        return HF_ENOMEM;
    }
    *ret = &all->public;
    return 0;
}

/* Tokens rise along a line, unless another program wrote there. */
static bool tokens_rise(const struct hf_report *report)
{
    for (size_t i = 1; i < report->count; i++)
        if (report->entry[i]->token <= report->entry[i - 1]->token)
            return false;
    return true;
}

static void date_entry(struct hf_entry *entry, const struct hf_entry *then, int64_t now)
{
    if (then->held && then->since > entry->since)
        entry->since = then->since;
    else if (!then->held && then->since == entry->since && entry->since < now)
        entry->since = now;
}

/* Where tokens rise, each search continues where the last one ended. */
void hf_report_date(struct hf_report *report, const struct hf_report *before, int64_t now)
{
    bool   rise = tokens_rise(report) && tokens_rise(before);
    size_t k = 0;

    for (size_t i = 0; i < report->count; i++) {
        struct hf_entry *entry = &full(report)->entry[i];
        if (!entry->held)
            continue;
        k = rise ? k : 0;
        while (k < before->count && (rise ? before->entry[k]->token < entry->token
                                          : before->entry[k]->token != entry->token))
            k++;
        if (k < before->count && before->entry[k]->token == entry->token)
            date_entry(entry, before->entry[k], now);
    }
}

bool hf_report_same(const struct hf_report *a, const struct hf_report *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (a->entry[i]->token != b->entry[i]->token ||
            a->entry[i]->held != b->entry[i]->held)
            return false;
    return true;
}
