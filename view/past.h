/* past.h - the last things that happened in a store, kept by the process that watches it.
 *
 * They come from the history that the store keeps, exactly; or, if it keeps none, from
 * comparing looks at its lines (changes.h).
 */
#ifndef PAST_H
#define PAST_H

#include "json.h"

#include <holdfast.h>

struct past_event {
    uint64_t number;   /* rising by one, in this process */
    int64_t  time;     /* microseconds since 1970 */
    char     what[12]; /* as of struct hf_record */
    uint64_t token;
    int      slot; /* -1: none */
    /* All strings in one piece of memory. */
    const char *name, *kind, *owner, *command, *note, *reason;
    char       *text;
};

struct past {
    struct past_event *event; /* a ring */
    size_t             room;
    uint64_t           count; /* events so far; the last has this number */
};

/* Keeps so many; false: no memory. */
bool past_init(struct past *past, size_t room);
void past_finish(struct past *past);

/* Something happened; `owner` is "ana@db2:4242". */
void past_add_entry(struct past *past, const char *what, const struct hf_entry *entry,
                    int64_t time, const char *reason);
void past_add_record(struct past *past, const struct hf_record *record);

/* The event of that number, NULL if it is forgotten or not there yet. */
const struct past_event *past_get(const struct past *past, uint64_t number);

/* The number of the oldest event that is kept and is not before `time`; count + 1: none. */
uint64_t past_since(const struct past *past, int64_t time);

/* The last time that the holder with this token was asked for the lock; NULL: it was not,
 * or that is not known. */
const struct past_event *past_asked(const struct past *past, const char *name,
                                    uint64_t token);

/* The members of an object; the caller opens and closes it. */
void past_json(struct json *json, const struct past_event *event);

#endif
