/* metrics.c - see metrics.h.
 *
 * Names of locks are other people's choice, and there may be any number: Prometheus would
 * keep a series for each that ever was.  So there are sums of all locks, and by name only
 * those few that hurt most, while they do.
 */
#include "metrics.h"

#include "answer.h"
#include "clock.h"
#include "process.h"
#include "prom.h"

#include <stdlib.h>

#define WORST 10

static void gauge(FILE *out, const char *name, const char *help, double value)
{
    prom_head(out, name, "gauge", help);
    prom_value(out, name, NULL, value);
}

static void counter(FILE *out, const char *name, const char *help, uint64_t value)
{
    prom_head(out, name, "counter", help);
    prom_count(out, name, NULL, value);
}

static double seconds_since(int64_t time, int64_t now)
{
    return time > 0 && now > time ? (double)(now - time) / 1e6 : 0;
}

/* ---- The board ---------------------------------------------------------------------- */

struct sums {
    size_t  waited_for;
    int64_t waits_since; /* of all; 0: nobody waits */
    int64_t least_left;  /* ms, of all holders with a lease; -1: none */
};

static struct sums sum_up(const struct eye *eye, int64_t now)
{
    struct sums sums = { .least_left = -1 };

    for (size_t i = 0; i < eye->board.count; i++) {
        const struct board_line *line = eye->board.line[i];
        sums.waited_for += line->waiters > 0;
        if (line->waits_since > 0 &&
            (sums.waits_since == 0 || line->waits_since < sums.waits_since))
            sums.waits_since = line->waits_since;
        for (size_t k = 0; k < line->report->count; k++) {
            const struct hf_entry *entry = line->report->entry[k];
            if (!entry->held || entry->left_ms < 0 || entry->left_ms == INT64_MAX)
                continue;
            int64_t left = eye_left_ms(line, k, now);
            if (sums.least_left < 0 || left < sums.least_left)
                sums.least_left = left;
        }
    }
    return sums;
}

static void write_board(FILE *out, const struct eye *eye, int64_t now)
{
    struct sums sums = sum_up(eye, now);

    gauge(out, "holdfast_locks", "Locks that somebody holds or waits for.",
          (double)eye->board.count);
    gauge(out, "holdfast_locks_waited_for", "Locks that somebody waits for.",
          (double)sums.waited_for);
    gauge(out, "holdfast_holders", "Places in all lines that hold their lock.",
          (double)eye->board.holders);
    gauge(out, "holdfast_waiters", "Places in all lines that wait.",
          (double)eye->board.waiters);
    gauge(out, "holdfast_longest_wait_seconds", "How long the longest has been waiting.",
          seconds_since(sums.waits_since, now));
    if (sums.least_left >= 0)
        gauge(out, "holdfast_least_lease_left_seconds",
              "Least time that the store gives a holder until it must have renewed its "
              "lease; as seen last.",
              (double)sums.least_left / 1e3);
}

static void write_worst(FILE *out, const char *name, const char *help,
                        const struct board_line **line, size_t count, int64_t now,
                        double (*value)(const struct board_line *, int64_t))
{
    prom_head(out, name, "gauge", help);
    for (size_t i = 0; i < count; i++)
        prom_value(out, name,
                   (struct prom_label[]){ { "lock", line[i]->name }, { NULL, NULL } },
                   value(line[i], now));
}

static double waiters_of(const struct board_line *line, int64_t now)
{
    (void)now;
    return (double)line->waiters;
}

static double wait_of(const struct board_line *line, int64_t now)
{
    return seconds_since(line->waits_since, now);
}

static void write_locks(FILE *out, const struct eye *eye, int64_t now)
{
    const struct board_line **line = calloc(eye->board.count + 1, sizeof *line);
    size_t                    count = 0;

    if (line == NULL)
        return;
    board_sort(&eye->board, now, line);
    while (count < eye->board.count && count < WORST && line[count]->waiters > 0)
        count++;
    write_worst(out, "holdfast_lock_waiters",
                "How many wait for this lock; of the ten with the most waiting.", line,
                count, now, waiters_of);
    write_worst(out, "holdfast_lock_longest_wait_seconds",
                "How long the longest has been waiting for this lock; of the same ten.",
                line, count, now, wait_of);
    free(line);
}

/* ---- The past and the link ------------------------------------------------------------ */

static void write_events(FILE *out, const struct site *site)
{
    prom_head(out, "holdfast_events_total", "counter",
              "What happened to places in line since this program started.");
    for (size_t i = 0; i < COUNTS_KINDS; i++)
        prom_count(out, "holdfast_events_total",
                   (struct prom_label[]){ { "event", counts_word[i] }, { NULL, NULL } },
                   site->counts.event[i]);
    gauge(out, "holdfast_history_exact",
          "1: events are counted by the history that the store keeps; 0: by looking, so "
          "what comes and goes in between is missed.",
          site->eye.exact);
    counter(out, "holdfast_history_missed_total",
            "Events that the store forgot before they were counted.",
            site->eye.missed + site->counts.missed);
}

static void write_link(FILE *out, const struct eye *eye)
{
    struct hf_client_stats stats;

    hf_get_client_stats(eye->client, &stats, sizeof stats);
    gauge(out, "holdfast_store_reachable", "1: the store can be reached.",
          eye->reachable);
    if (eye->as_of > 0)
        gauge(out, "holdfast_last_look_timestamp_seconds",
              "When the store was looked at last because something had changed, since "
              "1970.",
              (double)eye->as_of / 1e6);
    counter(out, "holdfast_store_reconnects_total",
            "How often the store was reached again.",
            stats.connected > 0 ? stats.connected - 1 : 0);
    counter(out, "holdfast_sessions_lost_total",
            "Sessions of this program that the store ended.", stats.lost);
    prom_head(out, "holdfast_round_trip_seconds", "histogram",
              "How long the store took to answer this program.");
    prom_histogram(out, "holdfast_round_trip_seconds", NULL, &stats.round_trip);
}

static void write_site(FILE *out, const struct site *site)
{
    prom_head(out, "holdfast_build_info", "gauge", "1; the version is a label.");
    prom_value(out, "holdfast_build_info",
               (struct prom_label[]){ { "version", hf_version() }, { NULL, NULL } }, 1);
    gauge(out, "holdfast_web_streams", "Browsers that are told what changes.",
          (double)site->stream_count);
}

enum MHD_Result metrics_answer(struct site *site, struct MHD_Connection *connection)
{
    struct draft draft;

    eye_recall(&site->eye);
    counts_follow(&site->counts, &site->eye.past, site->eye.before);
    int64_t now = clock_wall_us();

    site->scraped = now;
    if (!draft_begin(&draft))
        return MHD_NO;
    if (site->eye.as_of > 0) { /* else nothing is known of its locks */
        write_board(draft.out, &site->eye, now);
        write_locks(draft.out, &site->eye, now);
    }
    write_events(draft.out, site);
    write_link(draft.out, &site->eye);
    write_site(draft.out, site);
    process_write(draft.out);
    return draft_send(&draft, connection, MHD_HTTP_OK, PROM_TYPE);
}
