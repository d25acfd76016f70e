/* sample_reports.c - see sample_reports.h. */
#include "lib/sample_reports.h"

#include "client/look/report.h"

#include <assert.h>
#include <stdlib.h>

struct hf_place sample_place(uint64_t token)
{
    return (struct hf_place){ .seq = token,
                              .token = token,
                              .shape = { .weight = 1, .capacity = 1 },
                              .slot = -1,
                              .since = 1000000,
                              .left = INT64_MAX,
                              .note = "user=ana host=db2 pid=7 command=./deploy.sh" };
}

struct hf_report *sample_report(const char *name, const struct hf_place *place,
                                size_t count)
{
    struct hf_place  *named = calloc(count + 1, sizeof *named);
    struct hf_report *report = NULL;

    assert(named != NULL);
    for (size_t i = 0; i < count; i++) {
        named[i] = place[i];
        named[i].line = name;
    }
    struct hf_line line = { .place = named, .count = count };
    int            r = hf_report_new(&line, 0, &report);
    assert(r == 0);
    (void)r;
    free(named);
    return report;
}

struct hf_report *sample_mutexes(const char *name, uint64_t first, size_t count)
{
    struct hf_place *place = calloc(count + 1, sizeof *place);

    assert(place != NULL);
    for (size_t i = 0; i < count; i++)
        place[i] = sample_place(first + i);
    struct hf_report *report = sample_report(name, place, count);
    free(place);
    return report;
}
