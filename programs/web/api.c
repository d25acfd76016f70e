/* api.c - see api.h. */
#include "api.h"

#include "answer.h"
#include "clock.h"
#include "place.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

#define FORGOTTEN_US 7500000 /* an older lease is unknown */
#define PLACES_MAX   1000    /* of one lock, per answer */
#define HISTORY_MAX  2000    /* entries per answer */

enum MHD_Result api_locks(struct site *site, struct MHD_Connection *connection)
{
    struct draft draft;

    if (!draft_begin_json(&draft))
        return MHD_NO;
    feed_write_state(&site->feed, &site->monitor, &draft.json);
    feed_write_rows(&site->feed, &draft.json);
    return draft_send_json(&draft, connection, MHD_HTTP_OK);
}

/* ---- One lock ---------------------------------------------------------------------- */

/* The holders or the waiters, PLACES_MAX at most. */
static void write_places(const struct lock *lock, struct json *json, bool held)
{
    int64_t now = clock_wall_us();
    size_t  written = 0;

    json_open(json, held ? "holders" : "waiters", '[');
    for (size_t i = 0; i < lock->report->count && written < PLACES_MAX; i++) {
        struct hf_entry entry = *lock->report->entry[i];
        if (entry.held != held)
            continue;
        entry.left_ms = monitor_left_ms(lock, i, now);
        if (now - lock->seen > FORGOTTEN_US && entry.left_ms != INT64_MAX)
            entry.left_ms = -1;
        json_open(json, NULL, '{');
        place_json(json, &entry);
        json_string(json, "lease",
                    entry.left_ms < 0            ? "unknown"
                    : entry.left_ms == INT64_MAX ? "process"
                                                 : "timed");
        json_close(json, '}');
        written++;
    }
    json_close(json, ']');
}

enum MHD_Result api_lock(struct site *site, struct MHD_Connection *connection,
                         const char *name)
{
    const struct lock *lock = locks_find(&site->monitor.locks, name);
    struct draft       draft;

    if (!draft_begin_json(&draft))
        return MHD_NO;
    feed_write_now(&draft.json);
    json_string(&draft.json, "name", name);
    json_number(&draft.json, "holder_count", lock != NULL ? (int64_t)lock->holders : 0);
    json_number(&draft.json, "waiter_count", lock != NULL ? (int64_t)lock->waiters : 0);
    if (lock != NULL) {
        write_places(lock, &draft.json, true);
        write_places(lock, &draft.json, false);
    } else {
        json_open(&draft.json, "holders", '[');
        json_close(&draft.json, ']');
        json_open(&draft.json, "waiters", '[');
        json_close(&draft.json, ']');
    }
    return draft_send_json(&draft, connection, MHD_HTTP_OK);
}

/* ---- History ------------------------------------------------------------------------ */

static bool is_wanted(const struct history_entry *entry, const char *name)
{
    return name == NULL || strcmp(entry->name, name) == 0;
}

/* The number before the first entry to write, so that there are at most HISTORY_MAX; *cut: there are
 * more. */
static uint64_t find_start(const struct history *history, const char *name,
                           uint64_t after, bool *cut)
{
    const struct history_entry *entry;
    uint64_t                    number = history->count;
    size_t                      found = 0;

    *cut = false;
    for (; number > after && (entry = history_get(history, number)) != NULL; number--) {
        if (!is_wanted(entry, name))
            continue;
        if (found == HISTORY_MAX) {
            *cut = true;
            break;
        }
        found++;
    }
    return number;
}

enum MHD_Result api_history(struct site *site, struct MHD_Connection *connection)
{
    const struct history *history = &site->monitor.history;
    const char           *name =
        MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "name");
    const char *given =
        MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "after");
    uint64_t     after = 0;
    bool         cut;
    struct draft draft;

    if (given != NULL && !text_parse_number(given, 0, UINT64_MAX / 2, &after))
        return answer_error(connection, MHD_HTTP_BAD_REQUEST, "after: not a number");
    monitor_read_history(&site->monitor);
    if (!draft_begin_json(&draft))
        return MHD_NO;
    uint64_t number = find_start(history, name, after, &cut);
    feed_write_now(&draft.json);
    json_bool(&draft.json, "exact", site->monitor.exact);
    json_bool(&draft.json, "cut", cut);
    json_number(&draft.json, "last", (int64_t)history->count);
    json_open(&draft.json, "events", '[');
    while (number < history->count) {
        const struct history_entry *entry = history_get(history, ++number);
        if (entry == NULL || !is_wanted(entry, name))
            continue;
        json_open(&draft.json, NULL, '{');
        history_json(&draft.json, entry);
        json_close(&draft.json, '}');
    }
    json_close(&draft.json, ']');
    return draft_send_json(&draft, connection, MHD_HTTP_OK);
}
