/* history.h - the last events in a store, kept by the process that watches it.
 *
 * They come from the history that the store keeps, which is exact.  If it keeps none, they come
 * from comparing a lock with its state before (changes.h).
 */
#ifndef HISTORY_H
#define HISTORY_H

#include "json.h"

#include <holdfast.h>

struct history_entry {
    uint64_t number;   /* rises by one, in this process */
    int64_t  time;     /* microseconds since 1970 */
    char     what[12]; /* as in struct hf_history_entry */
    uint64_t token;
    int      slot; /* -1: none */
    /* All strings lie in one piece of memory, `text`. */
    const char *name, *kind, *owner, *command, *note, *reason;
    char       *text;
};

struct history {
    struct history_entry *entry; /* a ring */
    size_t                room;
    uint64_t              count; /* entries so far; the last has this number */
};

/* Keeps the last `room` entries; false: no memory. */
bool history_init(struct history *history, size_t room);
void history_finish(struct history *history);

/* Add something that happened to a place, or an entry of the store's own history. */
void history_add_place(struct history *history, const char *what,
                       const struct hf_entry *place, int64_t time, const char *reason);
void history_add_entry(struct history *history, const struct hf_history_entry *entry);

/* The entry of that number; NULL: it is no longer kept, or does not exist yet. */
const struct history_entry *history_get(const struct history *history, uint64_t number);

/* The number of the oldest entry that is not before `time`; count + 1: there is none. */
uint64_t history_since(const struct history *history, int64_t time);

/* The last time somebody asked the holder with this token for the lock; NULL: nobody did, or
 * it is not known. */
const struct history_entry *history_last_request(const struct history *history,
                                                 const char *name, uint64_t token);

/* The members of an object; the caller opens and closes it. */
void history_json(struct json *json, const struct history_entry *entry);

#endif
