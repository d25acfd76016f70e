/* api.c - see api.h. */
#include "api.h"

#include "answer.h"
#include "clock.h"
#include "place.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

#define FORGOTTEN_US 7500000 /* a lease that was not seen for so long is not known */
#define PLACES_MAX   1000    /* of one line are told */
#define HISTORY_MAX  2000    /* events at a time */

static void write_now(struct json *json)
{
    char text[TEXT_TIME_MAX];

    json_string(json, "now", text_time(text, clock_wall_us()));
}

enum MHD_Result api_locks(struct site *site, struct MHD_Connection *connection)
{
    struct draft draft;

    if (!draft_begin_json(&draft))
        return MHD_NO;
    feed_write_state(&site->feed, &site->eye, &draft.json);
    feed_write_rows(&site->feed, &draft.json);
    return draft_send_json(&draft, connection, MHD_HTTP_OK);
}

/* ---- One line ---------------------------------------------------------------------- */

/* Places that are held, or those that are not; of the latter the first so many. */
static void write_places(const struct board_line *line, struct json *json, bool held)
{
    int64_t now = clock_wall_us();
    size_t  told = 0;

    json_open(json, held ? "holders" : "waiters", '[');
    for (size_t i = 0; i < line->report->count && told < PLACES_MAX; i++) {
        struct hf_entry entry = *line->report->entry[i];
        if (entry.held != held)
            continue;
        entry.left_ms = eye_left_ms(line, i, now);
        if (now - line->seen > FORGOTTEN_US && entry.left_ms != INT64_MAX)
            entry.left_ms = -1;
        json_open(json, NULL, '{');
        place_json(json, &entry);
        json_string(json, "lease",
                    entry.left_ms < 0            ? "unknown"
                    : entry.left_ms == INT64_MAX ? "process"
                                                 : "timed");
        json_close(json, '}');
        told++;
    }
    json_close(json, ']');
}

enum MHD_Result api_line(struct site *site, struct MHD_Connection *connection,
                         const char *name)
{
    const struct board_line *line = board_find(&site->eye.board, name);
    struct draft             draft;

    if (!draft_begin_json(&draft))
        return MHD_NO;
    write_now(&draft.json);
    json_string(&draft.json, "name", name);
    json_number(&draft.json, "holder_count", line != NULL ? (int64_t)line->holders : 0);
    json_number(&draft.json, "waiter_count", line != NULL ? (int64_t)line->waiters : 0);
    if (line != NULL) {
        write_places(line, &draft.json, true);
        write_places(line, &draft.json, false);
    } else {
        json_open(&draft.json, "holders", '[');
        json_close(&draft.json, ']');
        json_open(&draft.json, "waiters", '[');
        json_close(&draft.json, ']');
    }
    return draft_send_json(&draft, connection, MHD_HTTP_OK);
}

/* ---- History ------------------------------------------------------------------------ */

static bool is_wanted(const struct past_event *event, const char *name)
{
    return name == NULL || strcmp(event->name, name) == 0;
}

/* The number before the first event to tell, so that HISTORY_MAX are told at most; true
 * in *cut if there were more. */
static uint64_t find_start(const struct past *past, const char *name, uint64_t after,
                           bool *cut)
{
    const struct past_event *event;
    uint64_t                 number = past->count;
    size_t                   found = 0;

    *cut = false;
    for (; number > after && (event = past_get(past, number)) != NULL; number--) {
        if (!is_wanted(event, name))
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
    const struct past *past = &site->eye.past;
    const char        *name =
        MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "name");
    const char *given =
        MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "after");
    uint64_t     after = 0;
    bool         cut;
    struct draft draft;

    if (given != NULL && !text_parse_number(given, 0, UINT64_MAX / 2, &after))
        return answer_error(connection, MHD_HTTP_BAD_REQUEST, "after: not a number");
    eye_recall(&site->eye);
    if (!draft_begin_json(&draft))
        return MHD_NO;
    uint64_t number = find_start(past, name, after, &cut);
    write_now(&draft.json);
    json_bool(&draft.json, "exact", site->eye.exact);
    json_bool(&draft.json, "cut", cut);
    json_number(&draft.json, "last", (int64_t)past->count);
    json_open(&draft.json, "events", '[');
    while (number < past->count) {
        const struct past_event *event = past_get(past, ++number);
        if (event == NULL || !is_wanted(event, name))
            continue;
        json_open(&draft.json, NULL, '{');
        past_json(&draft.json, event);
        json_close(&draft.json, '}');
    }
    json_close(&draft.json, ']');
    return draft_send_json(&draft, connection, MHD_HTTP_OK);
}
