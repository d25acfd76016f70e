/* changes.c - see changes.h. */
#include "changes.h"

#include <stddef.h>

/* Tokens rise along a queue, unless another program wrote to it. */
static bool tokens_rise(const struct hf_report *report)
{
    for (size_t i = 1; i < report->count; i++)
        if (report->entry[i]->token <= report->entry[i - 1]->token)
            return false;
    return true;
}

/* If tokens rise, each search continues where the last one ended. */
static const struct hf_entry *find_place(const struct hf_report *report, uint64_t token,
                                         bool rise, size_t *at)
{
    size_t i = rise ? *at : 0;

    while (i < report->count &&
           (rise ? report->entry[i]->token < token : report->entry[i]->token != token))
        i++;
    *at = i;
    return i < report->count && report->entry[i]->token == token ? report->entry[i]
                                                                 : NULL;
}

void changes_tell(const struct hf_report *before, const struct hf_report *after,
                  void (*tell)(const char *what, const struct hf_entry *entry,
                               void *data),
                  void *data)
{
    static const struct hf_report nobody = { 0 };
    size_t                        at = 0;

    before = before != NULL ? before : &nobody;
    bool rise = tokens_rise(before) && tokens_rise(after);
    for (size_t i = 0; i < before->count; i++) {
        const struct hf_entry *was = before->entry[i];
        if (find_place(after, was->token, rise, &at) == NULL)
            tell(was->held ? "released" : "left", was, data);
    }
    at = 0;
    for (size_t i = 0; i < after->count; i++) {
        const struct hf_entry *now = after->entry[i];
        const struct hf_entry *was = find_place(before, now->token, rise, &at);
        if (was == NULL)
            tell(now->held ? "granted" : "entered", now, data);
        else if (now->held && !was->held)
            tell("granted", now, data);
    }
}
