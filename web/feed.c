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

#define GONE_MAX 1000 /* rows that are gone are remembered, so many */
#define HOUR_US  (INT64_C(3600) * 1000000)

bool feed_init(struct feed *feed)
{
    char random[SECRET_SIZE];

    *feed = (struct feed){ .turn = 2 }; /* see stream.c: 0 and 1 were before */
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
    piece_free(feed->last);
    *feed = (struct feed){ 0 };
}

/* ---- Following the board ------------------------------------------------------------ */

/* Both are sorted: the rows that there were, and the lines that there are. */
struct merge {
    struct feed        *feed;
    const struct board *board;
    struct row        **row;
    size_t              count;
    bool                complete;
};

static void keep_row(struct merge *merge, struct row *row)
{
    merge->row[merge->count++] = row;
}

/* A row without a line. */
static void pass_row(struct merge *merge, struct row *row, bool forget)
{
    if (row->gone && forget) {
        merge->feed->gone--;
        row_free(row);
        return;
    }
    if (!row->gone) {
        row_go(row, merge->board->version);
        merge->feed->gone++;
    }
    keep_row(merge, row);
}

/* A line, with the row that it had or NULL. */
static void pass_line(struct merge *merge, const struct board_line *line, struct row *row)
{
    if (row == NULL)
        row = row_new(line->name, ++merge->feed->ids);
    if (row == NULL) {
        merge->complete = false;
        return;
    }
    bool was_gone = row->gone;
    if ((row->version != line->version || row->json == NULL) && !row_write(row, line))
        merge->complete = false;
    if (was_gone && !row->gone)
        merge->feed->gone--;
    keep_row(merge, row);
}

bool feed_follow(struct feed *feed, const struct eye *eye)
{
    const struct board *board = &eye->board;
    struct merge        merge = { .feed = feed, .board = board, .complete = true };
    bool                forget = feed->gone > GONE_MAX;
    size_t              i = 0, k = 0;

    merge.row = calloc(feed->count + board->count + 1, sizeof(struct row *));
    if (merge.row == NULL)
        return false;
    while (i < feed->count || k < board->count) {
        struct row              *row = i < feed->count ? feed->row[i] : NULL;
        const struct board_line *line = k < board->count ? board->line[k] : NULL;
        int order = row == NULL ? 1 : line == NULL ? -1 : strcmp(row->name, line->name);
        if (order < 0) {
            pass_row(&merge, row, forget);
            i++;
            continue;
        }
        pass_line(&merge, line, order == 0 ? row : NULL);
        i += order == 0;
        k++;
    }
    free(feed->row);
    feed->row = merge.row;
    feed->count = merge.count;
    feed->version = board->version;
    if (forget)
        feed->floor = board->version;
    return merge.complete;
}

/* ---- Messages ------------------------------------------------------------------------ */

void piece_free(struct piece *piece)
{
    if (piece == NULL || --piece->users > 0)
        return;
    free(piece->text);
    free(piece);
}

static void write_now(struct json *json)
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

/* The line of a row, from *k on; NULL: it is gone. */
static const struct board_line *next_line(const struct board *board, const char *name,
                                          size_t *k)
{
    while (*k < board->count && strcmp(board->line[*k]->name, name) < 0)
        ++*k;
    bool found = *k < board->count && strcmp(board->line[*k]->name, name) == 0;
    return found ? board->line[*k] : NULL;
}

/* The rows whose first holder, on this host, is stopped.  That is no change in the store, so it is
 * looked at whenever something is sent.  A process that holds many is looked at once. */
static void write_stopped(const struct feed *feed, const struct eye *eye,
                          struct json *json)
{
    const struct hf_entry *last = NULL;
    bool                   stopped = false;
    size_t                 k = 0;

    json_open(json, "stopped", '[');
    for (size_t i = 0; i < feed->count; i++) {
        const struct row        *row = feed->row[i];
        const struct board_line *line = next_line(&eye->board, row->name, &k);
        if (line == NULL || line->holder == NULL)
            continue;
        if (last == NULL || last->pid != line->holder->pid ||
            strcmp(last->host, line->holder->host) != 0)
            stopped = place_is_stopped(line->holder);
        last = line->holder;
        if (stopped)
            json_number(json, NULL, row->id);
    }
    json_close(json, ']');
}

/* Leases that were renewed since their rows were written: [id, milliseconds left]. */
static void write_leases(const struct feed *feed, const struct eye *eye,
                         struct json *json)
{
    int64_t now = clock_wall_us();
    size_t  k = 0;

    json_open(json, "leases", '[');
    for (size_t i = 0; i < feed->count && k < eye->board.count; i++) {
        const struct row *row = feed->row[i];
        if (row->lease_until == 0)
            continue;
        const struct board_line *line = next_line(&eye->board, row->name, &k);
        if (line == NULL)
            continue;
        int64_t until = row_lease_until(line);
        if (until == row->lease_until || until == 0)
            continue;
        json_open(json, NULL, '[');
        json_number(json, NULL, row->id);
        json_number(json, NULL, (until - now) / 1000);
        json_close(json, ']');
    }
    json_close(json, ']');
}

static void write_message(const struct feed *feed, const struct eye *eye, FILE *out,
                          const struct piece *piece)
{
    struct json json = { .out = out };
    uint64_t    from = piece->from;
    bool        full = piece->full;

    if (full || from != feed->version) {
        fprintf(out, "id: %s-%" PRIu64 "\nevent: rows\ndata: ", feed->epoch,
                feed->version);
        json_open(&json, NULL, '{');
        json_bool(&json, "full", full);
        write_now(&json);
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
    feed_write_state(feed, eye, &json);
    write_stopped(feed, eye, &json);
    if (piece->leases)
        write_leases(feed, eye, &json);
    json_close(&json, '}');
    fputs("\n\n", out);
}

/* `wanted` tells what for. */
static struct piece *make_piece(const struct feed *feed, const struct eye *eye,
                                const struct piece *wanted)
{
    struct piece *piece = calloc(1, sizeof *piece);
    FILE         *out = piece != NULL ? open_memstream(&piece->text, &piece->size) : NULL;

    if (out == NULL) {
        free(piece);
        return NULL;
    }
    write_message(feed, eye, out, wanted);
    piece->users = 1;
    piece->from = wanted->from;
    piece->full = wanted->full;
    piece->leases = wanted->leases;
    piece->version = wanted->version;
    piece->turn = wanted->turn;
    if (fclose(out) != 0) {
        piece_free(piece);
        return NULL;
    }
    return piece;
}

static bool is_same(const struct piece *a, const struct piece *b)
{
    return a->turn == b->turn && a->from == b->from && a->version == b->version &&
           a->full == b->full && a->leases == b->leases;
}

void feed_turn(struct feed *feed, const struct eye *eye)
{
    feed->turn++;
    if (eye->lease_ms >= 0 && feed->refreshed != eye->refreshed) {
        feed->refreshed = eye->refreshed;
        feed->leases = feed->turn;
    }
}

struct piece *feed_piece(struct feed *feed, const struct eye *eye, uint64_t from,
                         uint64_t turn)
{
    struct piece wanted = { .from = from,
                            .version = feed->version,
                            .turn = feed->turn,
                            .full = turn == 0 || from < feed->floor,
                            .leases = turn < feed->leases };

    if (feed->last == NULL || !is_same(feed->last, &wanted)) {
        struct piece *piece = make_piece(feed, eye, &wanted);
        if (piece == NULL)
            return NULL;
        piece_free(feed->last);
        feed->last = piece;
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

static void write_or_null(struct json *json, const char *key, int64_t value)
{
    if (value >= 0)
        json_number(json, key, value);
    else
        json_null(json, key);
}

void feed_write_state(const struct feed *feed, const struct eye *eye, struct json *json)
{
    char text[TEXT_TIME_MAX];

    json_string(json, "store", hf_where(eye->client));
    json_bool(json, "reachable", eye->reachable);
    json_string(json, "why", eye->reachable ? "" : eye->why);
    json_bool(json, "complete", eye->complete);
    write_now(json);
    if (eye->as_of > 0)
        json_string(json, "as_of", text_time(text, eye->as_of));
    else
        json_null(json, "as_of");
    bool known = eye->as_of > 0; /* else the store was never looked at as a whole */
    write_or_null(json, "lock_count", known ? (int64_t)eye->board.count : -1);
    write_or_null(json, "held", known ? (int64_t)eye->board.holders : -1);
    write_or_null(json, "waiting", known ? (int64_t)eye->board.waiters : -1);
    write_or_null(json, "lost_last_hour", eye_lost_since(eye, clock_wall_us() - HOUR_US));
    write_or_null(json, "round_trip_p50_us", eye_round_trip_us(eye, 50));
    write_or_null(json, "round_trip_p99_us", eye_round_trip_us(eye, 99));
    write_or_null(json, "lease_ms", eye->lease_ms);
    json_bool(json, "exact", eye->exact);
    json_number(json, "events", (int64_t)eye->past.count);
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
