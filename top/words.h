/* words.h - short texts of a screen: how long, how much is left, what to type. */
#ifndef WORDS_H
#define WORDS_H

#include "sight.h"

#include <stddef.h>

#define WORDS_SHORT 48

/* "130us", "2.1ms", "1.2s", or "-". */
const char *words_trip(char out[WORDS_SHORT], int64_t microseconds);

/* "14:03:07" of today by the clock on the wall, else "2026-11-15"; "-" if it is 0. */
const char *words_time(char out[WORDS_SHORT], int64_t time, int64_t now);

/* A lease, as a bar if there is one: "[||||| ] 12s".  "kernel": as long as its process
 * lives; "session": the store does not tell more; "?": nobody knows at present. */
const char *words_lease(char out[WORDS_SHORT], const struct sight *sight,
                        int64_t left_ms);

/* What is left of the lease of the place at that index, as words_lease() takes it: what was seen last, unless
 * that is long ago. */
int64_t words_left_ms(const struct sight *sight, const struct board_line *line,
                      size_t place);
#define WORDS_FORGOTTEN (-2)

/* Less than a third of a lease is left. */
bool words_lease_is_low(const struct sight *sight, int64_t left_ms);

/* A word for the shell: plain, 'quoted', or $'\xe2' if it has characters that hide. */
void words_quote(char *out, size_t size, const char *word);

/* What to type: "holdfast VERB --token 17 NAME". */
void words_command(char *out, size_t size, const struct sight *sight, const char *verb,
                   uint64_t token, const char *name);

/* The members of a line that are not the name: "ana@db2:4242 +2", "semaphore". */
const char *words_holder(char *out, size_t size, const struct board_line *line);

/* The command of a place, or its note if that is all there is. */
void words_what(char *out, size_t size, const struct hf_entry *entry);

#endif
