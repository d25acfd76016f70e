/* once.c - see once.h. */
#include "once.h"

#include "draw.h"
#include "place.h"
#include "text.h"

#include <string.h>

void once_text(FILE *out, const struct rows *rows, const struct snapshot *snapshot,
               size_t width)
{
    struct page page = { 0 };

    draw_printed(&page, rows, snapshot, width);
    for (size_t i = 0; i < page.lines; i++) {
        const char *text = page_text(&page, i);
        size_t      length = strlen(text);
        while (length > 0 && text[length - 1] == ' ')
            length--;
        size_t margin = length > 0 && text[0] == ' ';
        fprintf(out, "%.*s\n", (int)(length - margin), text + margin);
    }
    page_finish(&page);
}

/* ---- JSON --------------------------------------------------------------------------- */

static void put_places(struct json *json, const char *key, const struct lock *lock,
                       bool held)
{
    json_open(json, key, '[');
    for (size_t i = 0; i < lock->report->count; i++) {
        const struct hf_entry *entry = lock->report->entry[i];
        if (entry->held != held)
            continue;
        json_open(json, NULL, '{');
        place_json(json, entry);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void put_lock(struct json *json, const struct lock *lock, int64_t now)
{
    int64_t wait = lock->waits_since > 0 ? (now - lock->waits_since) / 1000 : -1;

    json_open(json, NULL, '{');
    json_string(json, "name", lock->name);
    json_string(json, "kind", lock->report->entry[0]->kind);
    json_number(json, "pain_ms", (int64_t)(lock_contention(lock, now) / 1000));
    json_number_or_null(json, "longest_wait_ms",
                        lock->waiters == 0 ? -1
                        : wait < 0         ? 0
                                           : wait);
    put_places(json, "holders", lock, true);
    put_places(json, "waiters", lock, false);
    json_close(json, '}');
}

void once_json(FILE *out, const struct rows *rows, const struct snapshot *snapshot)
{
    struct json json = { .out = out };
    char        time[TEXT_TIME_MAX];

    json_open(&json, NULL, '{');
    json_string(&json, "store", snapshot->store);
    json_string(&json, "as_of", text_time(time, snapshot->as_of));
    json_open(&json, "round_trip_us", '{');
    json_number_or_null(&json, "p50", snapshot->p50_us);
    json_number_or_null(&json, "p99", snapshot->p99_us);
    json_close(&json, '}');
    json_number(&json, "held", (int64_t)snapshot->locks->holders);
    json_number(&json, "waiting", (int64_t)snapshot->locks->waiters);
    json_number_or_null(&json, "lost_last_hour", snapshot->lost);
    json_open(&json, "locks", '[');
    for (size_t i = 0; i < rows->count; i++)
        put_lock(&json, rows->row[i], snapshot->now);
    json_close(&json, ']');
    json_close(&json, '}');
    fputc('\n', out);
}
