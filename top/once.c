/* once.c - see once.h. */
#include "once.h"

#include "draw.h"
#include "place.h"
#include "text.h"

#include <string.h>

void once_text(FILE *out, const struct rows *rows, const struct sight *sight,
               size_t width)
{
    struct page page = { 0 };

    draw_paper(&page, rows, sight, width);
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

static void number_or_null(struct json *json, const char *key, int64_t value)
{
    if (value < 0)
        json_null(json, key);
    else
        json_number(json, key, value);
}

static void put_places(struct json *json, const char *key, const struct board_line *line,
                       bool held)
{
    json_open(json, key, '[');
    for (size_t i = 0; i < line->report->count; i++) {
        const struct hf_entry *entry = line->report->entry[i];
        if (entry->held != held)
            continue;
        json_open(json, NULL, '{');
        place_json(json, entry);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void put_lock(struct json *json, const struct board_line *line, int64_t now)
{
    int64_t wait = line->waits_since > 0 ? (now - line->waits_since) / 1000 : -1;

    json_open(json, NULL, '{');
    json_string(json, "name", line->name);
    json_string(json, "kind", line->report->entry[0]->kind);
    json_number(json, "pain_ms", (int64_t)(board_pain(line, now) / 1000));
    number_or_null(json, "longest_wait_ms",
                   line->waiters == 0 ? -1
                   : wait < 0         ? 0
                                      : wait);
    put_places(json, "holders", line, true);
    put_places(json, "waiters", line, false);
    json_close(json, '}');
}

void once_json(FILE *out, const struct rows *rows, const struct sight *sight)
{
    struct json json = { .out = out };
    char        time[TEXT_TIME_MAX];

    json_open(&json, NULL, '{');
    json_string(&json, "store", sight->store);
    json_string(&json, "as_of", text_time(time, sight->as_of));
    json_open(&json, "round_trip_us", '{');
    number_or_null(&json, "p50", sight->p50_us);
    number_or_null(&json, "p99", sight->p99_us);
    json_close(&json, '}');
    json_number(&json, "held", (int64_t)sight->board->holders);
    json_number(&json, "waiting", (int64_t)sight->board->waiters);
    number_or_null(&json, "lost_last_hour", sight->lost);
    json_open(&json, "locks", '[');
    for (size_t i = 0; i < rows->count; i++)
        put_lock(&json, rows->row[i], sight->now);
    json_close(&json, ']');
    json_close(&json, '}');
    fputc('\n', out);
}
