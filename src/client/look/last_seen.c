/* last_seen.c - the lines that a store watch has seen; see watch.h. */
#include "client/look/watch.h"

#include "base/clock.h"
#include "base/name.h"
#include "client/look/report.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct hf_seen_line {
    struct hf_report    *report;
    uint64_t             round; /* in which it was last seen */
    struct hf_seen_line *next;
    char                 name[];
};

static struct hf_seen_line **find_line(struct hf_last_seen *seen, const char *name)
{
    struct hf_seen_line **line = &seen->lines[hf_name_hash(name) % HF_SEEN_BUCKETS];

    while (*line != NULL && strcmp((*line)->name, name) != 0)
        line = &(*line)->next;
    return line;
}

static void forget_line(struct hf_seen_line **at)
{
    struct hf_seen_line *line = *at;

    *at = line->next;
    hf_report_free(line->report);
    free(line);
}

void hf_last_seen_finish(struct hf_last_seen *seen)
{
    for (size_t i = 0; i < HF_SEEN_BUCKETS; i++)
        while (seen->lines[i] != NULL)
            forget_line(&seen->lines[i]);
}

/* Takes the report over, unless it fails. */
static int remember_line(const struct hf_last_seen *seen, struct hf_seen_line **at,
                         const char *name, struct hf_report *report)
{
    if (*at == NULL) {
        size_t size = strlen(name) + 1;
        *at = calloc(1, sizeof **at + size);
        if (*at == NULL)
            return HF_ENOMEM;
        memcpy((*at)->name, name, size);
    }
    hf_report_free((*at)->report);
    (*at)->report = report;
    (*at)->round = seen->round;
    return 0;
}

static int report_shared(const struct hf_last_seen *seen, const char *name,
                         struct hf_report *report)
{
    int r = seen->on_differs(name, hf_report_share(report), seen->data);

    if (r < 0)
        hf_report_free(report);
    return r;
}

/* A line that could not be reported is not remembered either: it will differ again. */
int hf_last_seen_update(struct hf_last_seen *seen, const char *name,
                        struct hf_report *report)
{
    struct hf_seen_line **at = find_line(seen, name);
    bool                  same = *at == NULL && report->count == 0;
    int                   r = 0;

    if (*at != NULL) {
        hf_report_date(report, (*at)->report, hf_wall_us());
        same = hf_report_same((*at)->report, report);
    }
    if (!same)
        r = report_shared(seen, name, report);
    if (r == 0 && report->count > 0)
        r = remember_line(seen, at, name, report);
    else if (r == 0 && *at != NULL)
        forget_line(at);
    if (r < 0 || report->count == 0)
        hf_report_free(report);
    return r;
}

static int report_empty(struct hf_last_seen *seen, struct hf_seen_line **at)
{
    struct hf_report *none;

    int r = hf_report_new(&(struct hf_line){ 0 }, 0, &none);
    if (r < 0)
        return r;
    r = seen->on_differs((*at)->name, none, seen->data);
    if (r < 0)
        hf_report_free(none);
    else
        forget_line(at);
    return r;
}

static int report_absent_lines(struct hf_last_seen *seen)
{
    int r = 0;

    for (size_t i = 0; i < HF_SEEN_BUCKETS; i++) {
        struct hf_seen_line **at = &seen->lines[i];
        while (*at != NULL && r == 0) {
            if ((*at)->round == seen->round)
                at = &(*at)->next;
            else
                r = report_empty(seen, at);
        }
    }
    return r;
}

int hf_last_seen_update_all(struct hf_last_seen *seen, const struct hf_line *all,
                            uint64_t stamp)
{
    int r = 0;

    seen->round++;
    for (size_t first = 0, end; first < all->count && r == 0; first = end) {
        const char       *name = all->place[first].line;
        struct hf_report *report;

        for (end = first + 1; end < all->count; end++)
            if (strcmp(all->place[end].line, name) != 0)
                break;
        r = hf_report_new(&(struct hf_line){ all->place + first, end - first }, stamp,
                          &report);
        if (r == 0)
            r = hf_last_seen_update(seen, name, report);
    }
    return r == 0 ? report_absent_lines(seen) : r;
}
