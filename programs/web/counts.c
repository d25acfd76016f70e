/* counts.c - see counts.h. */
#include "counts.h"

#include <string.h>

const char *const counts_word[COUNTS_KINDS] = {
    "entered", "granted", "released", "left",    "lost",
    "broken",  "asked",   "lessened", "unknown",
};

static size_t kind_of(const char *what)
{
    for (size_t i = 0; i < COUNTS_KINDS - 1; i++)
        if (strcmp(what, counts_word[i]) == 0)
            return i;
    return COUNTS_KINDS - 1;
}

void counts_follow(struct counts *counts, const struct history *history, uint64_t first)
{
    if (counts->seen < first)
        counts->seen = first;
    while (counts->seen < history->count) {
        const struct history_entry *entry = history_get(history, ++counts->seen);
        if (entry != NULL)
            counts->event[kind_of(entry->what)]++;
        else
            counts->missed++; /* more new entries than the history has room for */
    }
}
