/* nested.c - would this run wait for itself?  See nested.h. */
#include "run/nested.h"

#include "entry.h"

enum nested nested_judge(const struct hf_report *report, const char *name,
                         uint32_t weight, uint32_t capacity)
{
    uint64_t around = 0;
    bool     behind = false;

    for (size_t i = 0; i < report->count; i++) {
        const struct hf_entry *entry = report->entry[i];
        if (!entry->held || !held_place(name, entry->token, entry->host, entry->pid))
            continue;
        if (entry->capacity != capacity)
            return NESTED_FINE; /* another kind of lock: the store refuses that */
        around += entry->weight;
    }
    if (around == 0)
        return NESTED_FINE;
    if (around + weight > capacity)
        return NESTED_STUCK;
    for (size_t i = 0; i < report->count; i++) {
        const struct hf_entry *entry = report->entry[i];
        if (entry_is_ours(entry))
            return behind ? NESTED_BEHIND : NESTED_FINE;
        behind = behind || (!entry->held && around + entry->weight > entry->capacity);
    }
    return NESTED_UNSURE;
}
