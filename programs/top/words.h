/* words.h - short texts for the screen: times, leases, commands to type. */
#ifndef WORDS_H
#define WORDS_H

#include "snapshot.h"

#include <stddef.h>

#define WORDS_SHORT 48

/* "130us", "2.1ms", "1.2s", or "-". */
const char *words_trip(char out[WORDS_SHORT], int64_t microseconds);

/* "14:03:07" if it is today in local time, else "2026-11-15"; "-" if it is 0. */
const char *words_time(char out[WORDS_SHORT], int64_t time, int64_t now);

/* A lease as a bar: "[||||| ] 12s".  "kernel": as long as its process lives; "session": the
 * store does not report more; "?": not known at present. */
const char *words_lease(char out[WORDS_SHORT], const struct snapshot *snapshot,
                        int64_t left_ms);

/* How much is left of the lease of the place at that index, for words_lease(): as last seen, unless
 * that is long ago. */
int64_t words_left_ms(const struct snapshot *snapshot, const struct lock *lock,
                      size_t place);
#define WORDS_FORGOTTEN (-2)

/* Keeps only the bar if the text is wider than that: half a bar would be misleading. */
void words_shorten_lease(char *text, size_t width);

/* Less than a third of a lease is left. */
bool words_lease_is_low(const struct snapshot *snapshot, int64_t left_ms);

/* A word for the shell: plain, 'quoted', or $'\xe2' if it has hidden characters. */
void words_quote(char *out, size_t size, const char *word);

/* A command to type: "holdfast VERB --token 17 NAME". */
void words_command(char *out, size_t size, const struct snapshot *snapshot,
                   const char *verb, uint64_t token, const char *name);

/* The first holder, and how many more there are: "ana@db2:4242 +2". */
const char *words_holder(char *out, size_t size, const struct lock *lock);

/* The command of a place, or its note if that is all there is. */
void words_what(char *out, size_t size, const struct hf_entry *entry);

#endif
