/* place.h - a place in a line, in words and in JSON, for all programs that show it. */
#ifndef PLACE_H
#define PLACE_H

#include "json.h"

#include <holdfast.h>

#define PLACE_TEXT_MAX 512

/* "?" if it is empty. */
const char *place_or_unknown(const char *text);

/* No client of ours: it is known by its note alone. */
bool place_is_stranger(const struct hf_entry *entry);

/* Does it hold, and is its process, on this host, stopped: by SIGSTOP or Ctrl-Z? */
bool place_is_stopped(const struct hf_entry *entry);

/* "ana@db2:4242", or "-". */
const char *place_address(char out[PLACE_TEXT_MAX], const struct hf_entry *entry);

/* How long it has been held or waited for, in microseconds. */
int64_t place_age(const struct hf_entry *entry);

/* The members of an object; the caller opens and closes it. */
void place_json(struct json *json, const struct hf_entry *entry);

#endif
