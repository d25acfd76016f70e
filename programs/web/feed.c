/* feed.c - see feed.h. */
#include "feed.h"

#include "clock.h"
#include "place.h"
#include "row.h"
#include "secret.h"
#include "text.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define GONE_MAX 1000 /* how many gone rows are remembered */
#define HOUR_US  (INT64_C(3600) * 1000000)

bool feed_init(struct feed *feed)
{
    char random[SECRET_SIZE];

    *feed = (struct feed){ .update = 2 }; /* 0 and 1 have a meaning in stream.c */
    if (!secret_make(random))
        return false;
    memcpy(feed->epoch, random, sizeof feed->epoch - 1);
    return true;
}

void feed_finish(struct feed *feed)
{
    for (size_t i = 0; i < feed->count; i++)
        row_free(feed->row[i]);
    free(feed->row);
    message_free(feed->last);
    *feed = (struct feed){ 0 };
}

/* ---- Updating the rows -------------------------------------------------------------- */

/* Merges the old rows with the present locks; both are sorted. */
struct merge {
    struct feed        *feed;
    const struct locks *locks;
    struct row        **row;
    size_t              count;
    bool                complete;
};

static void keep_row(struct merge *merge, struct row *row)
{
    merge->row[merge->count++] = row;
}

/* A row whose lock is gone. */
static void merge_row_without_lock(struct merge *merge, struct row *row, bool forget)
{
    if (row->gone && forget) {
        merge->feed->gone--;
        row_free(row);
        return;
    }
    if (!row->gone) {
        row_remove(row, merge->locks->version);
        merge->feed->gone++;
    }
    keep_row(merge, row);
}

/* A lock, with its old row or NULL. */
static void merge_lock(struct merge *merge, const struct lock *lock, struct row *row)
{
    if (row == NULL)
        row = row_new(lock->name, ++merge->feed->ids);
    if (row == NULL) {
        merge->complete = false;
        return;
    }
    bool was_gone = row->gone;
    if ((row->version != lock->version || row->json == NULL) && !row_write(row, lock))
        merge->complete = false;
    if (was_gone && !row->gone)
        merge->feed->gone--;
    keep_row(merge, row);
}

bool feed_follow(struct feed *feed, const struct monitor *monitor)
{
    const struct locks *locks = &monitor->locks;
    struct merge        merge = { .feed = feed, .locks = locks, .complete = true };
    bool                forget = feed->gone > GONE_MAX;
    size_t              i = 0, k = 0;

    merge.row = calloc(feed->count + locks->count + 1, sizeof(struct row *));
    if (merge.row == NULL)
        return false;
    while (i < feed->count || k < locks->count) {
        struct row        *row = i < feed->count ? feed->row[i] : NULL;
        const struct lock *lock = k < locks->count ? locks->lock[k] : NULL;
        int order = row == NULL ? 1 : lock == NULL ? -1 : strcmp(row->name, lock->name);
        if (order < 0) {
            merge_row_without_lock(&merge, row, forget);
            i++;
            continue;
        }
        merge_lock(&merge, lock, order == 0 ? row : NULL);
        i += order == 0;
        k++;
    }
    free(feed->row);
    feed->row = merge.row;
    feed->count = merge.count;
    feed->version = locks->version;
    if (forget)
        feed->floor = locks->version;
    return merge.complete;
}

/* ---- Messages ------------------------------------------------------------------------ */

void message_free(struct message *message)
{
    if (message == NULL || --message->users > 0)
        return;
    free(message->text);
    free(message);
}

void feed_write_now(struct json *json)
{
    char text[TEXT_TIME_MAX];

    json_string(json, "now", text_time(text, clock_wall_us()));
}

static void write_changed(const struct feed *feed, FILE *out, uint64_t from, bool full)
{
    const char *comma = "";

    for (size_t i = 0; i < feed->count; i++) {
        const struct row *row = feed->row[i];
        if (row->json == NULL || (!full && row->version <= from))
            continue;
        fputs(comma, out);
        fwrite(row->json, 1, row->size, out);
        comma = ",";
    }
}

static void write_gone(const struct feed *feed, struct json *json, uint64_t from)
{
    json_open(json, "gone", '[');
    for (size_t i = 0; i < feed->count; i++)
        if (feed->row[i]->gone && feed->row[i]->version > from)
            json_number(json, NULL, feed->row[i]->id);
    json_close(json, ']');
}

/* The lock of a row, searched from *k on; NULL: it is gone. */
static const struct lock *next_lock(const struct locks *locks, const char *name,
                                    size_t *k)
{
    while (*k < locks->count && strcmp(locks->lock[*k]->name, name) < 0)
        ++*k;
    bool found = *k < locks->count && strcmp(locks->lock[*k]->name, name) == 0;
    return found ? locks->lock[*k] : NULL;
}

/* The rows whose first holder is on this host and stopped.  The store does not report that, so check
 * it for every message, once for each process. */
static void write_stopped(const struct feed *feed, const struct monitor *monitor,
                          struct json *json)
{
    const struct hf_entry *last = NULL;
    bool                   stopped = false;
    size_t                 k = 0;

    json_open(json, "stopped", '[');
    for (size_t i = 0; i < feed->count; i++) {
        const struct row  *row = feed->row[i];
        const struct lock *lock = next_lock(&monitor->locks, row->name, &k);
        if (lock == NULL || lock->holder == NULL)
            continue;
        if (last == NULL || last->pid != lock->holder->pid ||
            strcmp(last->host, lock->holder->host) != 0)
            stopped = place_is_stopped(lock->holder);
        last = lock->holder;
        if (stopped)
            json_number(json, NULL, row->id);
    }
    json_close(json, ']');
}

/* Leases that were renewed after their rows were written: [id, milliseconds left]. */
static void write_leases(const struct feed *feed, const struct monitor *monitor,
                         struct json *json)
{
    int64_t now = clock_wall_us();
    size_t  k = 0;

    json_open(json, "leases", '[');
    for (size_t i = 0; i < feed->count && k < monitor->locks.count; i++) {
        const struct row *row = feed->row[i];
        if (row->lease_until == 0)
            continue;
        const struct lock *lock = next_lock(&monitor->locks, row->name, &k);
        if (lock == NULL)
            continue;
        int64_t until = row_lease_until(lock);
        if (until == row->lease_until || until == 0)
            continue;
        json_open(json, NULL, '[');
        json_number(json, NULL, row->id);
        json_number(json, NULL, (until - now) / 1000);
        json_close(json, ']');
    }
    json_close(json, ']');
}

static void write_message(const struct feed *feed, const struct monitor *monitor,
                          FILE *out, const struct message *message)
{
    struct json json = { .out = out };
    uint64_t    from = message->from;
    bool        full = message->full;

    if (full || from != feed->version) {
        fprintf(out, "id: %s-%" PRIu64 "\nevent: rows\ndata: ", feed->epoch,
                feed->version);
        json_open(&json, NULL, '{');
        json_bool(&json, "full", full);
        feed_write_now(&json);
        json_open(&json, "rows", '[');
        write_changed(feed, out, from, full);
        json_close(&json, ']');
        write_gone(feed, &json, full ? feed->version : from);
        json_close(&json, '}');
        fputs("\n\n", out);
    }
    fputs("event: state\ndata: ", out);
    json = (struct json){ .out = out };
    json_open(&json, NULL, '{');
    feed_write_state(feed, monitor, &json);
    write_stopped(feed, monitor, &json);
    if (message->leases)
        write_leases(feed, monitor, &json);
    json_close(&json, '}');
    fputs("\n\n", out);
}

/* `wanted` says from which version to which. */
static struct message *make_message(const struct feed    *feed,
                                    const struct monitor *monitor,
                                    const struct message *wanted)
{
    struct message *message = calloc(1, sizeof *message);
    FILE *out = message != NULL ? open_memstream(&message->text, &message->size) : NULL;

    if (out == NULL) {
        free(message);
        return NULL;
    }
    write_message(feed, monitor, out, wanted);
    message->users = 1;
    message->from = wanted->from;
    message->full = wanted->full;
    message->leases = wanted->leases;
    message->version = wanted->version;
    message->update = wanted->update;
    if (fclose(out) != 0) {
        message_free(message);
        return NULL;
    }
    return message;
}

static bool is_same(const struct message *a, const struct message *b)
{
    return a->update == b->update && a->from == b->from && a->version == b->version &&
           a->full == b->full && a->leases == b->leases;
}

void feed_new_update(struct feed *feed, const struct monitor *monitor)
{
    feed->update++;
    if (monitor->lease_ms >= 0 && feed->refreshed != monitor->refreshed) {
        feed->refreshed = monitor->refreshed;
        feed->leases = feed->update;
    }
}

struct message *feed_message(struct feed *feed, const struct monitor *monitor,
                             uint64_t from, uint64_t update)
{
    struct message wanted = { .from = from,
                              .version = feed->version,
                              .update = feed->update,
                              .full = update == 0 || from < feed->floor,
                              .leases = update < feed->leases };

    if (feed->last == NULL || !is_same(feed->last, &wanted)) {
        struct message *message = make_message(feed, monitor, &wanted);
        if (message == NULL)
            return NULL;
        message_free(feed->last);
        feed->last = message;
    }
    feed->last->users++;
    return feed->last;
}

void feed_write_rows(const struct feed *feed, struct json *json)
{
    json_open(json, "locks", '[');
    write_changed(feed, json->out, 0, true);
    json_close(json, ']');
}

void feed_write_state(const struct feed *feed, const struct monitor *monitor,
                      struct json *json)
{
    char text[TEXT_TIME_MAX];

    json_string(json, "store", hf_where(monitor->client));
    json_bool(json, "reachable", monitor->reachable);
    json_string(json, "why", monitor->reachable ? "" : monitor->why);
    json_bool(json, "complete", monitor->complete);
    feed_write_now(json);
    if (monitor->as_of > 0)
        json_string(json, "as_of", text_time(text, monitor->as_of));
    else
        json_null(json, "as_of");
    bool known = monitor->as_of > 0; /* else the locks were never read */
    json_number_or_null(json, "lock_count", known ? (int64_t)monitor->locks.count : -1);
    json_number_or_null(json, "held", known ? (int64_t)monitor->locks.holders : -1);
    json_number_or_null(json, "waiting", known ? (int64_t)monitor->locks.waiters : -1);
    json_number_or_null(json, "lost_last_hour",
                        monitor_lost_since(monitor, clock_wall_us() - HOUR_US));
    json_number_or_null(json, "round_trip_p50_us", monitor_round_trip_us(monitor, 50));
    json_number_or_null(json, "round_trip_p99_us", monitor_round_trip_us(monitor, 99));
    json_number_or_null(json, "lease_ms", monitor->lease_ms);
    json_bool(json, "exact", monitor->exact);
    json_number(json, "events", (int64_t)monitor->history.count);
    json_bool(json, "allow_ask", feed->allow_ask);
    json_bool(json, "allow_break", feed->allow_break);
}

bool feed_parse_id(const struct feed *feed, const char *text, uint64_t *ret)
{
    size_t   length = strlen(feed->epoch);
    uint64_t version;

    if (text == NULL || strncmp(text, feed->epoch, length) != 0 || text[length] != '-' ||
        !text_parse_number(text + length + 1, 0, feed->version, &version) ||
        version < feed->floor)
        return false;
    *ret = version;
    return true;
}
