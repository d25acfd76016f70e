/* told.c - see told.h. */
#include "client/told.h"

#include "base/clock.h"
#include "base/name.h"
#include "client/report.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct hf_told_line {
    struct hf_report    *report;
    uint64_t             look; /* in which it was last seen */
    struct hf_told_line *next;
    char                 name[];
};

void hf_told_init(struct hf_told *told,
                  int (*tell)(const char *name, struct hf_report *report, void *data),
                  void *data)
{
    *told = (struct hf_told){ .tell = tell, .data = data };
}

static struct hf_told_line **find_told(struct hf_told *told, const char *name)
{
    struct hf_told_line **line = &told->lines[hf_name_hash(name) % HF_TOLD_BUCKETS];

    while (*line != NULL && strcmp((*line)->name, name) != 0)
        line = &(*line)->next;
    return line;
}

static void forget_told(struct hf_told_line **at)
{
    struct hf_told_line *line = *at;

    *at = line->next;
    hf_report_free(line->report);
    free(line);
}

void hf_told_finish(struct hf_told *told)
{
    for (size_t i = 0; i < HF_TOLD_BUCKETS; i++)
        while (told->lines[i] != NULL)
            forget_told(&told->lines[i]);
}

/* The report becomes the line's, unless this fails. */
static int remember_told(const struct hf_told *told, struct hf_told_line **at,
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
    (*at)->look = told->look;
    return 0;
}

static int tell_shared(const struct hf_told *told, const char *name,
                       struct hf_report *report)
{
    int r = told->tell(name, hf_report_share(report), told->data);

    if (r < 0)
        hf_report_free(report);
    return r;
}

/* What could not be told is not remembered either: it will look different again. */
int hf_told_line(struct hf_told *told, const char *name, struct hf_report *report)
{
    struct hf_told_line **at = find_told(told, name);
    bool                  same = *at == NULL && report->count == 0;
    int                   r = 0;

    if (*at != NULL) {
        hf_report_date(report, (*at)->report, hf_wall_us());
        same = hf_report_same((*at)->report, report);
    }
    if (!same)
        r = tell_shared(told, name, report);
    if (r == 0 && report->count > 0)
        r = remember_told(told, at, name, report);
    else if (r == 0 && *at != NULL)
        forget_told(at);
    if (r < 0 || report->count == 0)
        hf_report_free(report);
    return r;
}

static int tell_absent(struct hf_told *told, struct hf_told_line **at)
{
    struct hf_report *none;

    int r = hf_report_new(&(struct hf_line){ 0 }, 0, &none);
    if (r < 0)
        return r;
    r = told->tell((*at)->name, none, told->data);
    if (r < 0)
        hf_report_free(none);
    else
        forget_told(at);
    return r;
}

static int take_absent(struct hf_told *told)
{
    int r = 0;

    for (size_t i = 0; i < HF_TOLD_BUCKETS; i++) {
        struct hf_told_line **at = &told->lines[i];
        while (*at != NULL && r == 0) {
            if ((*at)->look == told->look)
                at = &(*at)->next;
            else
                r = tell_absent(told, at);
        }
    }
    return r;
}

int hf_told_all(struct hf_told *told, const struct hf_line *all, uint64_t stamp)
{
    int r = 0;

    told->look++;
    for (size_t first = 0, end; first < all->count && r == 0; first = end) {
        const char       *name = all->ticket[first].line;
        struct hf_report *report;

        for (end = first + 1; end < all->count; end++)
            if (strcmp(all->ticket[end].line, name) != 0)
                break;
        r = hf_report_new(&(struct hf_line){ all->ticket + first, end - first }, stamp,
                          &report);
        if (r == 0)
            r = hf_told_line(told, name, report);
    }
    return r == 0 ? take_absent(told) : r;
}
