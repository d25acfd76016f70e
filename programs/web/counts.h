/* counts.h - counts history entries since the program started, by kind. */
#ifndef COUNTS_H
#define COUNTS_H

#include "history.h"

#define COUNTS_KINDS 9

/* The words of struct hf_history_entry. */
extern const char *const counts_word[COUNTS_KINDS];

struct counts {
    uint64_t event[COUNTS_KINDS];
    uint64_t missed;
    uint64_t seen; /* the last history entry that was counted */
};

/* Count new entries, from number `first` + 1 on. */
void counts_follow(struct counts *counts, const struct history *history, uint64_t first);

#endif
