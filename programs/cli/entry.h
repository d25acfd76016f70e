/* entry.h - a place in a queue as text or JSON, with the leftovers of its command.
 *
 * Callers that show many places pass one scan of this host for all of them; others NULL.
 */
#ifndef ENTRY_H
#define ENTRY_H

#include "place.h"
#include "run/leftovers.h"

#include <holdfast.h>

#define ENTRY_TEXT_MAX PLACE_TEXT_MAX

/* The command under the lock: "pg_dump"; "(stopped) pg_dump"; if only its leftovers still
 * run, "left 3s ago: gpg-agent (pid 4711); by pg_dump".  Cut to `columns`. */
const char *entry_command(char out[ENTRY_TEXT_MAX], const struct hf_entry *entry,
                          struct leftovers_scan *look, size_t columns);

/* "pg_dump (pid 4242, ana@db2)", as far as it is known. */
const char *entry_owner(char out[ENTRY_TEXT_MAX], const struct hf_entry *entry,
                        struct leftovers_scan *look);

/* "a mutex", "a semaphore (--slots 4)", "a read/write lock (-s, -x)". */
#define ENTRY_KIND_MAX 64
const char *entry_kind(char out[ENTRY_KIND_MAX], const struct hf_entry *entry);

/* 'is held by pg_dump (pid 4242, ana@db2) for 3s and 2 others'; of the holders
 * in a report about one name.  Nobody: "is free". */
const char *entry_holders(char out[ENTRY_TEXT_MAX], const struct hf_report *report);

/* The first holder of a report about one name, or NULL. */
const struct hf_entry *entry_first_holder(const struct hf_report *report);

/* Is it a place of this process? */
bool entry_is_ours(const struct hf_entry *entry);

/* How many entries, from `first` on, have the same name as it. */
size_t entry_same_name(const struct hf_report *report, size_t first);

/* As place_json(), and what its command left. */
void entry_json(struct json *json, const struct hf_entry *entry,
                struct leftovers_scan *look);

/* A whole lock as an object: `count` entries of one name. */
void entry_json_lock(struct json *json, const char *name,
                     const struct hf_entry *const *entry, size_t count,
                     struct leftovers_scan *look);

#endif
