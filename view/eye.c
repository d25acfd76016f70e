/* eye.c - see eye.h. */
#include "eye.h"

#include "clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAST_ROOM  20000
#define ASK_MS     2000
#define REFRESH_US (5 * 1000000) /* how often leases are looked at, at most */
#define REFRESH_MS 1000          /* how long that may take: meanwhile nothing is shown */
#define RARELY     100 /* and no more than this part of the time is spent on it */
#define RECALL_US \
    500000 /* the least between two calls of eye_recall() that do something */
#define SELDOM_US (600 * 1000000) /* how often, at least */
#define AGAIN_US  (60 * 1000000)  /* before a store without a history is asked again */

static void on_line(struct hf_survey *survey, const char *name, struct hf_report *line,
                    void *data)
{
    struct eye *eye = data;
    bool        tell = eye->complete && !eye->exact;

    (void)survey;
    (void)board_take(&eye->board, name, line, clock_wall_us(), tell ? &eye->past : NULL);
}

static void on_look(struct hf_survey *survey, void *data)
{
    struct eye *eye = data;

    (void)survey;
    if (eye->resuming)
        board_sweep(&eye->board, eye->resumed, clock_wall_us(),
                    eye->exact ? NULL : &eye->past);
    eye->resuming = false;
    eye->complete = true;
    eye->looked = true;
    eye->as_of = clock_wall_us();
}

static void on_link(struct hf_client *client, enum hf_link link, const char *why,
                    void *data)
{
    struct eye *eye = data;

    (void)client;
    eye->reachable = link == HF_LINK_UP;
    snprintf(eye->why, sizeof eye->why, "%s", why);
    eye->told++;
}

static int begin_survey(struct eye *eye)
{
    struct hf_survey_options survey = HF_SURVEY_INIT;

    survey.on_line = on_line;
    survey.on_look = on_look;
    survey.data = eye;
    survey.pause_ms = eye->pause_ms;
    return hf_survey_new(eye->client, &survey, &eye->survey);
}

/* `holdfast run` does not pass a password on to its command. */
static bool is_withheld(void)
{
    const char *url = getenv("HOLDFAST_URL"), *store = getenv("HOLDFAST_STORE");

    return (url == NULL || *url == '\0') && store != NULL && *store == '\0';
}

int eye_open(struct eye *eye, const char *url, int pause_ms, char *error, size_t size)
{
    struct hf_options options = HF_OPTIONS_INIT;

    *eye = (struct eye){ .lease_ms = -1, .pause_ms = pause_ms, .refresh_us = REFRESH_US };
    if (url == NULL && is_withheld()) {
        snprintf(error, size,
                 "the store of the `holdfast run` around this one has a password, which "
                 "is not passed on; name a store by --url-file or --url");
        return HF_EINVAL;
    }
    options.flags = HF_NO_KEEPER;
    options.on_link = on_link;
    options.data = eye;
    options.error = error;
    options.error_size = size;
    if (!past_init(&eye->past, PAST_ROOM)) {
        snprintf(error, size, "out of memory");
        return HF_ENOMEM;
    }
    int r = hf_open(url, &options, &eye->client);
    if (r == 0 && (r = begin_survey(eye)) < 0)
        snprintf(error, size, "%s", hf_errmsg(eye->client));
    if (r < 0)
        eye_close(eye);
    return r;
}

void eye_close(struct eye *eye)
{
    hf_survey_free(eye->survey);
    hf_close(eye->client);
    board_finish(&eye->board);
    past_finish(&eye->past);
    *eye = (struct eye){ 0 };
}

void eye_suspend(struct eye *eye)
{
    hf_survey_free(eye->survey);
    eye->survey = NULL;
}

int eye_resume(struct eye *eye)
{
    int r = eye->survey == NULL ? begin_survey(eye) : HF_ESTATE;

    if (r < 0)
        return r;
    eye->resumed = eye->board.version;
    eye->resuming = true;
    return 0;
}

int eye_fd(struct eye *eye)
{
    return hf_fd(eye->client);
}

int eye_timeout_ms(struct eye *eye)
{
    int     timeout = hf_timeout_ms(eye->client);
    int64_t most = eye->refresh_us / 1000;
    int64_t due = (eye->refreshed + eye->refresh_us - clock_wall_us()) / 1000 + 1;

    if (eye->lease_ms < 0 || eye->unseen || eye->survey == NULL || !eye->reachable)
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

/* Nobody remembers what was before we looked, but every holder tells since when it holds.
 * If there are more than the past has room for, the last of them. */
static void guess_past(struct eye *eye)
{
    const struct hf_entry **holder = calloc(eye->board.holders + 1, sizeof *holder);
    size_t                  count = 0;

    for (size_t i = 0; holder != NULL && i < eye->board.count; i++) {
        const struct hf_report *report = eye->board.line[i]->report;
        for (size_t k = 0; k < report->count && count < eye->board.holders; k++)
            if (report->entry[k]->held)
                holder[count++] = report->entry[k];
    }
    if (count > 0)
        qsort(holder, count, sizeof *holder, by_since);
    for (size_t i = count > PAST_ROOM / 2 ? count - PAST_ROOM / 2 : 0; i < count; i++)
        past_add_entry(&eye->past, "granted", holder[i], holder[i]->since, "");
    eye->before = eye->past.count;
    free(holder);
}

static void take_records(struct eye *eye, const struct hf_records *history)
{
    uint64_t next = history->count > 0 ? history->record[0]->number : history->last + 1;

    if (eye->exact && next > eye->last + 1)
        eye->missed += next - eye->last - 1;
    for (size_t i = 0; i < history->count; i++)
        past_add_record(&eye->past, history->record[i]);
    if (!eye->exact)
        eye->before = eye->past.count;
    eye->exact = true;
    eye->last = history->last;
}

/* What the store remembers.  If it keeps nothing, it is seldom asked: somebody may have it
 * keep something later. */
static void recall(struct eye *eye)
{
    struct hf_records *history;
    int64_t            now = clock_wall_us();

    if (!eye->exact && eye->asked != 0 && now - eye->asked < AGAIN_US &&
        now >= eye->asked)
        return;
    int r = hf_history(eye->client, NULL, eye->last, ASK_MS, &history);
    if (r == 0) {
        take_records(eye, history);
        hf_records_free(history);
    } else if (r == HF_ENOTFOUND || r == HF_EUNSUPPORTED) {
        if (eye->asked == 0 && eye->past.count == 0)
            guess_past(eye);
        eye->exact = false;
        eye->asked = now;
    }
}

static void note_leases(struct eye *eye)
{
    for (size_t i = 0; i < eye->board.count; i++) {
        const struct hf_entry *holder = eye->board.line[i]->holder;
        if (holder != NULL && holder->left_ms >= 0 && holder->left_ms != INT64_MAX &&
            holder->left_ms > eye->lease_ms)
            eye->lease_ms = holder->left_ms;
    }
}

/* A renewal is no change of a line, so no survey tells of it. */
static void refresh_leases(struct eye *eye)
{
    struct hf_report *report;
    int64_t           now = clock_wall_us();

    if (eye->lease_ms < 0 || eye->unseen || eye->survey == NULL || !eye->reachable ||
        (now - eye->refreshed < eye->refresh_us && now >= eye->refreshed))
        return;
    eye->refreshed = now;
    int     r = hf_inspect(eye->client, NULL, REFRESH_MS, &report);
    int64_t took = clock_wall_us() - now;
    if (r < 0) { /* it takes too long: less and less often */
        eye->refresh_us =
            eye->refresh_us < SELDOM_US / 2 ? 2 * eye->refresh_us : SELDOM_US;
        return;
    }
    eye->refresh_us = took * RARELY > REFRESH_US ? took * RARELY : REFRESH_US;
    board_refresh(&eye->board, report, clock_wall_us());
    hf_report_free(report);
    eye->told++;
}

void eye_recall(struct eye *eye)
{
    int64_t now = clock_wall_us();

    if (!eye->exact || !eye->reachable || eye->survey == NULL ||
        (now - eye->recalled < RECALL_US && now >= eye->recalled))
        return;
    eye->recalled = now;
    recall(eye);
}

bool eye_process(struct eye *eye)
{
    uint64_t version = eye->board.version, told = eye->told, count = eye->past.count;

    hf_process(eye->client);
    if (eye->looked) {
        eye->looked = false;
        note_leases(eye);
        recall(eye);
        eye->told++;
    }
    refresh_leases(eye);
    return version != eye->board.version || told != eye->told || count != eye->past.count;
}

int64_t eye_left_ms(const struct board_line *line, size_t place, int64_t now)
{
    int64_t left = board_left_ms(line, place);

    if (left < 0 || left == INT64_MAX)
        return left;
    left -= (now - line->seen) / 1000;
    return left < 0 ? 0 : left;
}

int64_t eye_lost_since(const struct eye *eye, int64_t time)
{
    int64_t lost = 0;

    if (!eye->exact)
        return -1;
    for (uint64_t n = past_since(&eye->past, time); n <= eye->past.count; n++) {
        const struct past_event *event = past_get(&eye->past, n);
        lost += event != NULL &&
                (strcmp(event->what, "lost") == 0 || strcmp(event->what, "broken") == 0);
    }
    return lost;
}

int64_t eye_round_trip_us(const struct eye *eye, unsigned percent)
{
    struct hf_client_stats stats;

    hf_get_client_stats(eye->client, &stats, sizeof stats);
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
