/* changes.c - see changes.h. */
#include "changes.h"

#include <stddef.h>

/* Places stand in the order of their tokens nearly always: begin where the last was. */
static const struct hf_entry *find_place(const struct hf_report *report, uint64_t token,
                                         size_t *hint)
{
    size_t count = report != NULL ? report->count : 0;

    for (size_t n = 0; n < count; n++) {
        size_t i = (*hint + n) % count;
        if (report->entry[i]->token == token) {
            *hint = i + 1;
            return report->entry[i];
        }
    }
    return NULL;
}

void changes_tell(const struct hf_report *before, const struct hf_report *after,
                  void (*tell)(const char *what, const struct hf_entry *entry,
                               void *data),
                  void *data)
{
    size_t hint = 0;

    for (size_t i = 0; before != NULL && i < before->count; i++) {
        const struct hf_entry *was = before->entry[i];
        if (find_place(after, was->token, &hint) == NULL)
            tell(was->held ? "released" : "left", was, data);
    }
    hint = 0;
    for (size_t i = 0; i < after->count; i++) {
        const struct hf_entry *now = after->entry[i];
        const struct hf_entry *was = find_place(before, now->token, &hint);
        if (was == NULL)
            tell(now->held ? "granted" : "entered", now, data);
        else if (now->held && !was->held)
            tell("granted", now, data);
    }
}
