/* place.h - a place in a queue as text and JSON, for all programs that show it. */
#ifndef PLACE_H
#define PLACE_H

#include "json.h"

#include <holdfast.h>

#define PLACE_TEXT_MAX 512

/* "?" if it is empty. */
const char *place_or_unknown(const char *text);

/* Not a client of ours: only its note is known. */
bool place_is_stranger(const struct hf_entry *entry);

/* Is it neither a client's place nor another program's claim?  Then its note says why
 * nobody holds a lock that others wait for. */
bool place_is_nobody(const struct hf_entry *entry);

/* Is it a holder whose process runs on this host and is stopped, by SIGSTOP, Ctrl-Z or a
 * debugger? */
bool place_is_stopped(const struct hf_entry *entry);

/* "ana@db2:4242", or "-". */
const char *place_address(char out[PLACE_TEXT_MAX], const struct hf_entry *entry);

/* For how long it has held the lock or waited, in microseconds. */
int64_t place_age(const struct hf_entry *entry);

/* The members of an object; the caller opens and closes it. */
void place_json(struct json *json, const struct hf_entry *entry);

#endif
