/* monitor.c - see monitor.h. */
#include "monitor.h"

#include "clock.h"
#include "place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HISTORY_SIZE   20000
#define ASK_MS         2000
#define REFRESH_US     (5 * 1000000)   /* how often leases are read, at most */
#define REFRESH_MAX_US (600 * 1000000) /* how often, at least */
#define REFRESH_MS     1000   /* how long that may take: meanwhile nothing is shown */
#define REFRESH_SHARE  100    /* leases take at most 1/100 of the time */
#define HISTORY_US     500000 /* the least time between two reads of the history */
#define AGAIN_US       (60 * 1000000) /* before a store without a history is asked again */

static void on_line(struct hf_store_watch *watch, const char *name,
                    struct hf_report *report, void *data)
{
    struct monitor *monitor = data;
    bool            changes = monitor->complete && !monitor->exact;

    (void)watch;
    (void)locks_update(&monitor->locks, name, report, clock_wall_us(),
                       changes ? &monitor->history : NULL);
}

static void on_look(struct hf_store_watch *watch, void *data)
{
    struct monitor *monitor = data;

    (void)watch;
    if (monitor->resuming)
        locks_remove_unseen(&monitor->locks, monitor->resumed, clock_wall_us(),
                            monitor->exact ? NULL : &monitor->history);
    monitor->resuming = false;
    monitor->complete = true;
    monitor->round_ended = true;
    monitor->as_of = clock_wall_us();
}

static void on_link(struct hf_client *client, enum hf_link link, const char *why,
                    void *data)
{
    struct monitor *monitor = data;

    (void)client;
    monitor->reachable = link == HF_LINK_UP;
    snprintf(monitor->why, sizeof monitor->why, "%s", why);
    monitor->updates++;
}

static int begin_store_watch(struct monitor *monitor)
{
    struct hf_store_watch_options watch = HF_STORE_WATCH_INIT;

    watch.on_queue = on_line;
    watch.on_round = on_look;
    watch.data = monitor;
    watch.pause_ms = monitor->pause_ms;
    return hf_store_watch_new(monitor->client, &watch, &monitor->watch);
}

/* `holdfast run` does not pass a password on to its command. */
static bool is_withheld(void)
{
    const char *url = getenv("HOLDFAST_URL"), *store = getenv("HOLDFAST_STORE");

    return (url == NULL || *url == '\0') && store != NULL && *store == '\0';
}

int monitor_open(struct monitor *monitor, const char *url, int pause_ms, char *error,
                 size_t size)
{
    struct hf_options options = HF_OPTIONS_INIT;

    *monitor = (struct monitor){ .lease_ms = -1,
                                 .pause_ms = pause_ms,
                                 .refresh_us = REFRESH_US };
    if (url == NULL && is_withheld()) {
        snprintf(error, size,
                 "the store of the `holdfast run` around this one has a password, which "
                 "is not passed on; name a store by --url-file or --url");
        return HF_EINVAL;
    }
    options.flags = HF_NO_KEEPER;
    options.on_link = on_link;
    options.data = monitor;
    options.error = error;
    options.error_size = size;
    if (!history_init(&monitor->history, HISTORY_SIZE)) {
        snprintf(error, size, "out of memory");
        return HF_ENOMEM;
    }
    int r = hf_open(url, &options, &monitor->client);
    if (r == 0 && (r = begin_store_watch(monitor)) < 0)
        snprintf(error, size, "%s", hf_errmsg(monitor->client));
    if (r < 0)
        monitor_close(monitor);
    return r;
}

void monitor_close(struct monitor *monitor)
{
    hf_store_watch_free(monitor->watch);
    hf_close(monitor->client);
    locks_finish(&monitor->locks);
    history_finish(&monitor->history);
    *monitor = (struct monitor){ 0 };
}

void monitor_suspend(struct monitor *monitor)
{
    hf_store_watch_free(monitor->watch);
    monitor->watch = NULL;
}

int monitor_resume(struct monitor *monitor)
{
    int r = monitor->watch == NULL ? begin_store_watch(monitor) : HF_ESTATE;

    if (r < 0)
        return r;
    monitor->resumed = monitor->locks.version;
    monitor->resuming = true;
    return 0;
}

int monitor_fd(struct monitor *monitor)
{
    return hf_fd(monitor->client);
}

int monitor_timeout_ms(struct monitor *monitor)
{
    int     timeout = hf_timeout_ms(monitor->client);
    int64_t most = monitor->refresh_us / 1000;
    int64_t due = (monitor->refreshed + monitor->refresh_us - clock_wall_us()) / 1000 + 1;

    if (monitor->lease_ms < 0 || monitor->skip_leases || monitor->watch == NULL ||
        !monitor->reachable)
        return timeout;
    due = due < 0 ? 0 : due > most ? most : due;
    return timeout < 0 || due < timeout ? (int)due : timeout;
}

static int by_since(const void *a, const void *b)
{
    const struct hf_entry *x = *(const struct hf_entry *const *)a;
    const struct hf_entry *y = *(const struct hf_entry *const *)b;

    return x->since < y->since ? -1 : x->since > y->since;
}

/* The store has no history, but every holder says since when it holds the lock.  If there are
 * more than fit, the latest. */
static void guess_past(struct monitor *monitor)
{
    const struct hf_entry **holder = calloc(monitor->locks.holders + 1, sizeof *holder);
    size_t                  count = 0;

    for (size_t i = 0; holder != NULL && i < monitor->locks.count; i++) {
        const struct hf_report *report = monitor->locks.lock[i]->report;
        for (size_t k = 0; k < report->count && count < monitor->locks.holders; k++)
            if (report->entry[k]->held && !place_is_nobody(report->entry[k]))
                holder[count++] = report->entry[k];
    }
    if (count > 0)
        qsort(holder, count, sizeof *holder, by_since);
    for (size_t i = count > HISTORY_SIZE / 2 ? count - HISTORY_SIZE / 2 : 0; i < count;
         i++)
        history_add_place(&monitor->history, "granted", holder[i], holder[i]->since, "");
    monitor->initial = monitor->history.count;
    free(holder);
}

static void take_entries(struct monitor *monitor, const struct hf_history_report *history)
{
    uint64_t next = history->count > 0 ? history->entry[0]->number : history->last + 1;

    if (monitor->exact && next > monitor->last_number + 1)
        monitor->missed += next - monitor->last_number - 1;
    for (size_t i = 0; i < history->count; i++)
        history_add_entry(&monitor->history, history->entry[i]);
    if (!monitor->exact)
        monitor->initial = monitor->history.count;
    monitor->exact = true;
    monitor->last_number = history->last;
}

/* Read the store's history.  A store without one is asked again from time to time, because
 * somebody may turn it on later. */
static void read_history(struct monitor *monitor)
{
    struct hf_history_report *history;
    int64_t                   now = clock_wall_us();

    if (!monitor->exact && monitor->history_asked_at != 0 &&
        now - monitor->history_asked_at < AGAIN_US && now >= monitor->history_asked_at)
        return;
    int r = hf_history(monitor->client, NULL, monitor->last_number, ASK_MS, &history);
    if (r == 0) {
        take_entries(monitor, history);
        hf_history_report_free(history);
    } else if (r == HF_ENOTFOUND || r == HF_EUNSUPPORTED) {
        if (monitor->history_asked_at == 0 && monitor->history.count == 0)
            guess_past(monitor);
        monitor->exact = false;
        monitor->history_asked_at = now;
    }
}

static void find_longest_lease(struct monitor *monitor)
{
    for (size_t i = 0; i < monitor->locks.count; i++) {
        const struct hf_entry *holder = monitor->locks.lock[i]->holder;
        if (holder != NULL && holder->left_ms >= 0 && holder->left_ms != INT64_MAX &&
            holder->left_ms > monitor->lease_ms)
            monitor->lease_ms = holder->left_ms;
    }
}

/* The store watch does not report renewals. */
static void refresh_leases(struct monitor *monitor)
{
    struct hf_report *report;
    int64_t           now = clock_wall_us();

    if (monitor->lease_ms < 0 || monitor->skip_leases || monitor->watch == NULL ||
        !monitor->reachable ||
        (now - monitor->refreshed < monitor->refresh_us && now >= monitor->refreshed))
        return;
    monitor->refreshed = now;
    int     r = hf_inspect(monitor->client, NULL, REFRESH_MS, &report);
    int64_t took = clock_wall_us() - now;
    if (r < 0) { /* too slow: read leases less and less often */
        monitor->refresh_us = monitor->refresh_us < REFRESH_MAX_US / 2
                                  ? 2 * monitor->refresh_us
                                  : REFRESH_MAX_US;
        return;
    }
    monitor->refresh_us =
        took * REFRESH_SHARE > REFRESH_US ? took * REFRESH_SHARE : REFRESH_US;
    locks_refresh_leases(&monitor->locks, report, clock_wall_us());
    hf_report_free(report);
    monitor->updates++;
}

void monitor_read_history(struct monitor *monitor)
{
    int64_t now = clock_wall_us();

    if (!monitor->exact || !monitor->reachable || monitor->watch == NULL ||
        (now - monitor->history_read_at < HISTORY_US && now >= monitor->history_read_at))
        return;
    monitor->history_read_at = now;
    read_history(monitor);
}

bool monitor_process(struct monitor *monitor)
{
    uint64_t version = monitor->locks.version, told = monitor->updates,
             count = monitor->history.count;

    hf_process(monitor->client);
    if (monitor->round_ended) {
        monitor->round_ended = false;
        find_longest_lease(monitor);
        read_history(monitor);
        monitor->updates++;
    }
    refresh_leases(monitor);
    return version != monitor->locks.version || told != monitor->updates ||
           count != monitor->history.count;
}

int64_t monitor_left_ms(const struct lock *lock, size_t place, int64_t now)
{
    int64_t left = lock_left_ms(lock, place);

    if (left < 0 || left == INT64_MAX)
        return left;
    left -= (now - lock->seen) / 1000;
    return left < 0 ? 0 : left;
}

int64_t monitor_lost_since(const struct monitor *monitor, int64_t time)
{
    int64_t lost = 0;

    if (!monitor->exact)
        return -1;
    for (uint64_t n = history_since(&monitor->history, time); n <= monitor->history.count;
         n++) {
        const struct history_entry *entry = history_get(&monitor->history, n);
        lost += entry != NULL &&
                (strcmp(entry->what, "lost") == 0 || strcmp(entry->what, "broken") == 0);
    }
    return lost;
}

int64_t monitor_round_trip_us(const struct monitor *monitor, unsigned percent)
{
    struct hf_client_stats stats;

    hf_get_client_stats(monitor->client, &stats, sizeof stats);
    uint64_t want = (stats.round_trip.count * percent + 99) / 100, seen = 0;
    if (stats.round_trip.count == 0)
        return -1;
    for (unsigned i = 0; i < HF_BUCKETS; i++) {
        seen += stats.round_trip.bucket[i];
        if (seen >= want) {
            int64_t most = (int64_t)1 << i;
            int64_t max = (int64_t)stats.round_trip.max_us;
            return most < max ? most : max;
        }
    }
    return (int64_t)stats.round_trip.max_us;
}
