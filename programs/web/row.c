/* row.c - see row.h. */
#include "row.h"

#include "place.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

struct row *row_new(const char *name, unsigned id)
{
    size_t      size = strlen(name) + 1;
    struct row *row = calloc(1, sizeof *row + size);

    if (row == NULL)
        return NULL;
    row->name = memcpy((char *)(row + 1), name, size);
    row->id = id;
    return row;
}

void row_free(struct row *row)
{
    if (row != NULL)
        free(row->json);
    free(row);
}

void row_remove(struct row *row, uint64_t version)
{
    free(row->json);
    row->json = NULL;
    row->size = 0;
    row->lease_until = 0;
    row->gone = true;
    row->version = version;
}

int64_t row_lease_until(const struct lock *lock)
{
    int64_t left = lock->holder != NULL ? lock_left_ms(lock, lock->holder_at) : -1;

    return left < 0 || left == INT64_MAX ? 0 : lock->seen + left * 1000;
}

static void write_time(struct json *json, const char *key, int64_t time)
{
    char text[TEXT_TIME_MAX];

    if (time > 0)
        json_string(json, key, text_time(text, time));
    else
        json_null(json, key);
}

/* "process": it lasts as long as its process lives. */
static const char *lease_word(const struct hf_entry *holder)
{
    if (holder == NULL)
        return "none";
    return holder->left_ms < 0            ? "unknown"
           : holder->left_ms == INT64_MAX ? "process"
                                          : "timed";
}

static void write_members(struct json *json, const struct row *row,
                          const struct lock *lock, int64_t lease_until)
{
    const struct hf_entry *holder = lock->holder;
    const struct hf_entry *first = lock->report->entry[0];
    char                   owner[PLACE_TEXT_MAX];

    json_number(json, "id", row->id);
    json_string(json, "name", lock->name);
    json_string(json, "kind", holder != NULL ? holder->kind : first->kind);
    if (first->capacity == UINT32_MAX)
        json_null(json, "capacity");
    else
        json_number(json, "capacity", first->capacity);
    json_number(json, "holders", (int64_t)lock->holders);
    json_number(json, "waiters", (int64_t)lock->waiters);
    json_string(json, "owner", holder != NULL ? place_address(owner, holder) : "");
    json_string(json, "command", holder != NULL ? holder->command : "");
    json_string(json, "note", holder != NULL ? holder->note : first->note);
    write_time(json, "since", holder != NULL ? holder->since : 0);
    write_time(json, "waits_since", lock->waits_since);
    json_string(json, "lease", lease_word(holder));
    write_time(json, "lease_until", lease_until);
    write_time(json, "lease_seen", lease_until > 0 ? lock->seen : 0);
}

bool row_write(struct row *row, const struct lock *lock)
{
    char       *text;
    size_t      size;
    struct json json = { .out = open_memstream(&text, &size) };

    if (json.out == NULL)
        return false;
    int64_t lease_until = row_lease_until(lock);
    json_open(&json, NULL, '{');
    write_members(&json, row, lock, lease_until);
    json_close(&json, '}');
    if (fclose(json.out) != 0) {
        free(text);
        return false;
    }
    free(row->json);
    row->json = text;
    row->size = size;
    row->version = lock->version;
    row->lease_until = lease_until;
    row->gone = false;
    return true;
}
