/* counts.h - how much happened since the program started, by kind. */
#ifndef COUNTS_H
#define COUNTS_H

#include "past.h"

#define COUNTS_KINDS 9

/* The words of struct hf_record. */
extern const char *const counts_word[COUNTS_KINDS];

struct counts {
    uint64_t event[COUNTS_KINDS];
    uint64_t missed;
    uint64_t seen; /* the last event of the past that is counted */
};

/* Count what is new.  What happened before `first` is not counted. */
void counts_follow(struct counts *counts, const struct past *past, uint64_t first);

#endif
