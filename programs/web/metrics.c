/* metrics.c - see metrics.h.
 *
 * Clients can make up any number of lock names, and Prometheus would keep a series for each that ever
 * existed.  So there are sums over all locks, and only the few most contended have their names shown.
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

/* ---- The locks ---------------------------------------------------------------------- */

struct sums {
    size_t  waited_for;
    int64_t waits_since; /* when the longest wait began; 0: nobody waits */
    int64_t least_left;  /* ms, of all holders with a lease; -1: none */
};

static struct sums sum_up(const struct monitor *monitor, int64_t now)
{
    struct sums sums = { .least_left = -1 };

    for (size_t i = 0; i < monitor->locks.count; i++) {
        const struct lock *lock = monitor->locks.lock[i];
        sums.waited_for += lock->waiters > 0;
        if (lock->waits_since > 0 &&
            (sums.waits_since == 0 || lock->waits_since < sums.waits_since))
            sums.waits_since = lock->waits_since;
        for (size_t k = 0; k < lock->report->count; k++) {
            const struct hf_entry *entry = lock->report->entry[k];
            if (!entry->held || entry->left_ms < 0 || entry->left_ms == INT64_MAX)
                continue;
            int64_t left = monitor_left_ms(lock, k, now);
            if (sums.least_left < 0 || left < sums.least_left)
                sums.least_left = left;
        }
    }
    return sums;
}

static void write_locks(FILE *out, const struct monitor *monitor, int64_t now)
{
    struct sums sums = sum_up(monitor, now);

    gauge(out, "holdfast_locks", "Locks that somebody holds or waits for.",
          (double)monitor->locks.count);
    gauge(out, "holdfast_locks_waited_for", "Locks that somebody waits for.",
          (double)sums.waited_for);
    gauge(out, "holdfast_holders", "Holders of all locks.",
          (double)monitor->locks.holders);
    gauge(out, "holdfast_waiters", "Waiters of all locks.",
          (double)monitor->locks.waiters);
    gauge(out, "holdfast_longest_wait_seconds", "The longest wait at present.",
          seconds_since(sums.waits_since, now));
    if (sums.least_left >= 0)
        gauge(out, "holdfast_least_lease_left_seconds",
              "The least time that is left of any holder's lease, as last seen.",
              (double)sums.least_left / 1e3);
}

static void write_worst(FILE *out, const char *name, const char *help,
                        const struct lock **lock, size_t count, int64_t now,
                        double (*value)(const struct lock *, int64_t))
{
    prom_head(out, name, "gauge", help);
    for (size_t i = 0; i < count; i++)
        prom_value(out, name,
                   (struct prom_label[]){ { "lock", lock[i]->name }, { NULL, NULL } },
                   value(lock[i], now));
}

static double waiters_of(const struct lock *lock, int64_t now)
{
    (void)now;
    return (double)lock->waiters;
}

static double wait_of(const struct lock *lock, int64_t now)
{
    return seconds_since(lock->waits_since, now);
}

static void write_contended_locks(FILE *out, const struct monitor *monitor, int64_t now)
{
    const struct lock **lock = calloc(monitor->locks.count + 1, sizeof *lock);
    size_t              count = 0;

    if (lock == NULL)
        return;
    locks_sort(&monitor->locks, now, lock);
    while (count < monitor->locks.count && count < WORST && lock[count]->waiters > 0)
        count++;
    write_worst(out, "holdfast_lock_waiters",
                "Waiters of this lock, for the ten most contended locks.", lock, count,
                now, waiters_of);
    write_worst(out, "holdfast_lock_longest_wait_seconds",
                "The longest wait for this lock, for the same ten locks.", lock, count,
                now, wait_of);
    free(lock);
}

/* ---- The history and the link ------------------------------------------------------- */

static void write_events(FILE *out, const struct site *site)
{
    prom_head(out, "holdfast_events_total", "counter",
              "Events in the queues of all locks since this program started.");
    for (size_t i = 0; i < COUNTS_KINDS; i++)
        prom_count(out, "holdfast_events_total",
                   (struct prom_label[]){ { "event", counts_word[i] }, { NULL, NULL } },
                   site->counts.event[i]);
    gauge(
        out, "holdfast_history_exact",
        "1: events are counted from the history of the store; 0: from comparing states, "
        "which misses events in between.",
        site->monitor.exact);
    counter(out, "holdfast_history_missed_total",
            "Events that the store dropped before they were counted.",
            site->monitor.missed + site->counts.missed);
}

static void write_link(FILE *out, const struct monitor *monitor)
{
    struct hf_client_stats stats;

    hf_get_client_stats(monitor->client, &stats, sizeof stats);
    gauge(out, "holdfast_store_reachable", "1: the store can be reached.",
          monitor->reachable);
    if (monitor->as_of > 0)
        gauge(out, "holdfast_last_look_timestamp_seconds",
              "When the last change in the store was seen, since 1970.",
              (double)monitor->as_of / 1e6);
    counter(out, "holdfast_store_reconnects_total",
            "How often this program reconnected to the store.",
            stats.connected > 0 ? stats.connected - 1 : 0);
    counter(out, "holdfast_sessions_lost_total",
            "Sessions of this program that were lost.", stats.lost);
    prom_head(out, "holdfast_round_trip_seconds", "histogram",
              "How long the store took to answer this program.");
    prom_histogram(out, "holdfast_round_trip_seconds", NULL, &stats.round_trip);
}

static void write_site(FILE *out, const struct site *site)
{
    prom_head(out, "holdfast_build_info", "gauge", "1; the version is a label.");
    prom_value(out, "holdfast_build_info",
               (struct prom_label[]){ { "version", hf_version() }, { NULL, NULL } }, 1);
    gauge(out, "holdfast_web_streams", "Browsers that are connected.",
          (double)site->stream_count);
}

enum MHD_Result metrics_answer(struct site *site, struct MHD_Connection *connection)
{
    struct draft draft;

    monitor_read_history(&site->monitor);
    counts_follow(&site->counts, &site->monitor.history, site->monitor.initial);
    int64_t now = clock_wall_us();

    site->scraped = now;
    if (!draft_begin(&draft))
        return MHD_NO;
    if (site->monitor.as_of > 0) { /* else the locks were never read */
        write_locks(draft.out, &site->monitor, now);
        write_contended_locks(draft.out, &site->monitor, now);
    }
    write_events(draft.out, site);
    write_link(draft.out, &site->monitor);
    write_site(draft.out, site);
    process_write(draft.out);
    return draft_send(&draft, connection, MHD_HTTP_OK, PROM_TYPE);
}
