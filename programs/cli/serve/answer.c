/* answer.c - the lines that `serve` writes; docs/serve.md describes them. */
#include "serve/serve.h"

#include "clock.h"
#include "entry.h"

#include <time.h>
#include <unistd.h>

/* If memory is short the program is not told, so it must find the end of the file. */
static bool begin(struct serve *serve, struct event_line *line, const char *event)
{
    if (event_begin(line, event))
        return true;
    serve->out.broken = true;
    return false;
}

static void put_id(struct event_line *line, int64_t id)
{
    if (id > 0)
        json_number(&line->json, "id", id);
    else
        json_null(&line->json, "id");
}

/* `id` 0: nobody asked. */
static bool begin_about(struct serve *serve, struct event_line *line, const char *event,
                        int64_t id, const struct serve_lock *lock)
{
    if (!begin(serve, line, event))
        return false;
    if (id > 0)
        put_id(line, id);
    json_number(&line->json, "lock", lock->id);
    json_string(&line->json, "name", hf_name(lock->handle));
    return true;
}

/* The same moment by each of the clocks that some language can read.  The clock is read
 * first: a delay makes the deadline earlier, not later. */
static void put_deadline(struct serve *serve, struct event_line *line)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t boot = clock_boot_ns();
    int64_t left = serve->deadline == INT64_MAX ? INT64_MAX
                   : serve->deadline > boot     ? (serve->deadline - boot) / NS_PER_MS
                                                : 0;
    event_put_deadline(line, left);
    if (left == INT64_MAX) {
        json_null(&line->json, "boottime_ms");
        json_null(&line->json, "monotonic_ms");
        return;
    }
    json_number(&line->json, "boottime_ms", serve->deadline / NS_PER_MS);
    json_number(&line->json, "monotonic_ms",
                now.tv_sec * 1000 + now.tv_nsec / NS_PER_MS + left);
}

void answer_hello(struct serve *serve)
{
    struct event_line line;

    if (!begin(serve, &line, "hello"))
        return;
    json_number(&line.json, "protocol", SERVE_PROTOCOL);
    json_string(&line.json, "version", hf_version());
    json_number(&line.json, "pid", getpid());
    json_string(&line.json, "url", hf_where(serve->client));
    json_open(&line.json, "limits", '{');
    json_number(&line.json, "line", REQUEST_LINE_MAX);
    json_number(&line.json, "locks", SERVE_MOST);
    json_number(&line.json, "questions", SERVE_MOST);
    json_close(&line.json, '}');
    out_put(&serve->out, &line, OUT_SINGLE, 0);
}

void answer_failed(struct serve *serve, int64_t id, int error, const char *text)
{
    struct event_line line;

    if (!begin(serve, &line, "failed"))
        return;
    put_id(&line, id);
    json_string(&line.json, "error", hf_errname(error));
    event_put_text(&line, "text", text, EVENT_TEXT_CUT);
    out_put(&serve->out, &line, OUT_SINGLE, 0);
}

void answer_held(struct serve *serve, const struct serve_lock *lock)
{
    struct event_line line;

    if (!begin_about(serve, &line, "held", lock->id, lock))
        return;
    json_token(&line.json, "token", hf_token(lock->handle));
    json_number_or_null(&line.json, "slot", hf_slot(lock->handle));
    put_deadline(serve, &line);
    out_put(&serve->out, &line, OUT_SINGLE, 0);
}

void answer_lost(struct serve *serve, const struct serve_lock *lock, bool expired)
{
    struct event_line line;

    if (!begin_about(serve, &line, "lost", 0, lock))
        return;
    json_string(&line.json, "why", expired ? "expired" : "gone");
    out_put(&serve->out, &line, OUT_SINGLE, 0);
}

void answer_released(struct serve *serve, const struct serve_lock *lock, int error)
{
    struct event_line line;

    if (!begin_about(serve, &line, "released", lock->release, lock))
        return;
    if (error < 0)
        json_string(&line.json, "error", hf_errname(error));
    else
        json_null(&line.json, "error");
    out_put(&serve->out, &line, OUT_SINGLE, 0);
}

void answer_place(struct serve *serve, const struct serve_lock *lock, int64_t ahead)
{
    struct event_line line;

    if (!begin_about(serve, &line, "place", 0, lock))
        return;
    json_number(&line.json, "ahead", ahead);
    out_put(&serve->out, &line, OUT_PLACE, lock->id);
}

void answer_asked(struct serve *serve, const struct serve_lock *lock, const char *reason)
{
    struct event_line line;

    if (!begin_about(serve, &line, "asked", 0, lock))
        return;
    event_put_text(&line, "reason", reason, EVENT_TEXT_CUT);
    out_put(&serve->out, &line, OUT_ASKED, lock->id);
}

void answer_renewed(struct serve *serve)
{
    struct event_line line;

    if (!begin(serve, &line, "renewed"))
        return;
    put_deadline(serve, &line);
    out_put(&serve->out, &line, OUT_RENEWED, 0);
}

/* ---- Statistics ----------------------------------------------------------------- */

/* Without the empty buckets at the end. */
static void put_histogram(struct json *json, const char *name,
                          const struct hf_histogram *histogram)
{
    size_t used = HF_BUCKETS;

    while (used > 0 && histogram->bucket[used - 1] == 0)
        used--;
    json_open(json, name, '{');
    json_number(json, "count", (int64_t)histogram->count);
    json_number(json, "total_us", (int64_t)histogram->total_us);
    json_number(json, "max_us", (int64_t)histogram->max_us);
    json_open(json, "buckets", '[');
    for (size_t i = 0; i < used; i++)
        json_number(json, NULL, (int64_t)histogram->bucket[i]);
    json_close(json, ']');
    json_close(json, '}');
}

void answer_stats(struct serve *serve, int64_t id)
{
    struct event_line      line;
    struct hf_stats        stats;
    struct hf_client_stats client;

    if (!begin(serve, &line, "stats"))
        return;
    hf_get_all_stats(serve->client, &stats, sizeof stats);
    hf_get_client_stats(serve->client, &client, sizeof client);
    put_id(&line, id);
    const struct {
        const char *name;
        uint64_t    count;
    } counts[] = {
        { "acquired", stats.acquired },
        { "busy", stats.busy },
        { "timeouts", stats.timeouts },
        { "canceled", stats.canceled },
        { "failed", stats.failed },
        { "released", stats.released },
        { "lost", stats.lost },
        { "broken", stats.broken },
        { "connected", client.connected },
        { "sessions_lost", client.lost },
        { "renewals", client.renewals },
        { "renewals_late", client.late },
    };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        json_number(&line.json, counts[i].name, (int64_t)counts[i].count);
    if (stats.least_left != INT64_MAX)
        json_number(&line.json, "least_left_ms", stats.least_left / 1000);
    else
        json_null(&line.json, "least_left_ms");
    put_histogram(&line.json, "wait", &stats.wait);
    put_histogram(&line.json, "hold", &stats.hold);
    put_histogram(&line.json, "round_trip", &client.round_trip);
    out_put(&serve->out, &line, OUT_SINGLE, 0);
}

/* ---- Questions ------------------------------------------------------------------ */

static void tell_entry(struct serve *serve, int64_t id, const struct hf_entry *entry)
{
    struct event_line line;

    if (!begin(serve, &line, "entry"))
        return;
    put_id(&line, id);
    json_string(&line.json, "name", entry->name);
    json_bool(&line.json, "held", entry->held);
    place_json(&line.json, entry);
    out_put(&serve->out, &line, OUT_SINGLE, 0);
}

static void tell_done(struct serve *serve, const struct question *question)
{
    const struct request *request = &question->request;
    struct event_line     line;

    if (!begin(serve, &line, "done"))
        return;
    put_id(&line, request->id);
    if (question->lock != NULL) {
        json_number(&line.json, "lock", question->lock->id);
        put_deadline(serve, &line);
    }
    if (request->op == REQUEST_LIST)
        json_number(&line.json, "count", (int64_t)question->report->count);
    else if (request->op == REQUEST_ASK)
        json_number(&line.json, "count", question->result);
    out_put(&serve->out, &line, OUT_SINGLE, 0);
}

bool answer_question(struct serve *serve, struct question *question)
{
    const struct hf_report *report = question->report;
    int64_t                 id = question->request.id;

    if (question->result < 0) {
        answer_failed(serve, id, question->result, question->text);
        return true;
    }
    while (report != NULL && question->told < report->count) {
        if (serve->out.bytes >= OUT_ENOUGH)
            return false;
        tell_entry(serve, id, report->entry[question->told++]);
    }
    tell_done(serve, question);
    return true;
}
