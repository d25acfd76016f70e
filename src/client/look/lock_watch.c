/* lock_watch.c - following one lock; see watch.h. */
#include "client/callback.h"
#include "client/look/report.h"
#include "client/look/watch.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Before a retry, if the store refused. */
#define PAUSE HF_SEC

static void on_lock_watch_done(struct hf_query *query);

static void lock_watch_free(struct hf_lock_watch *watch)
{
    hf_report_free(watch->seen);
    free(watch->name);
    free(watch);
}

static void send_request(struct hf_lock_watch *watch, enum hf_op op, hf_time after)
{
    struct hf_query *query = &watch->query;

    assert(op == HF_LIST || watch->seen != NULL); /* WATCH compares with it */
    query->req = (struct hf_req){ .op = op, .name = watch->name };
    if (op == HF_WATCH)
        query->req.stamp = hf_report_stamp(watch->seen);
    query->after = after;
    query->deadline = HF_NEVER;
    query->on_done = on_lock_watch_done;
    hf_query_start(query, &watch->client->engine);
}

/* Queue the callback if it differs from the last report, and keep it. */
static void compare_report(struct hf_lock_watch *watch, struct hf_report *report)
{
    if (watch->seen != NULL)
        hf_report_date(report, watch->seen, hf_wall_us());
    bool same = watch->seen != NULL && hf_report_same(watch->seen, report);

    hf_report_free(watch->seen);
    watch->seen = report;
    if (same || watch->stopped)
        return;
    if (hf_callback_report(watch, hf_report_share(report)) < 0)
        hf_report_free(report);
}

/* From the engine, during a turn. */
static void on_lock_watch_done(struct hf_query *query)
{
    struct hf_lock_watch *watch = (struct hf_lock_watch *)query;
    struct hf_client     *client = watch->client;
    struct hf_report     *report = NULL;
    const struct hf_req  *req = &query->req;
    int                   status = req->status;
    bool                  listed = req->op == HF_LIST;

    assert(watch->started);
    if (status == 0 && listed)
        status = hf_report_new(&req->line, req->stamp, &report);

    int cancel = hf_drive_begin(&client->drive);
    if (report != NULL)
        compare_report(watch, report);
    bool stopped = watch->stopped && !watch->in_pending;
    hf_drive_end(&client->drive, cancel);

    if (stopped)
        lock_watch_free(watch);
    else if (status < 0)
        send_request(watch, HF_LIST, client->engine.now + PAUSE);
    else
        send_request(watch, listed ? HF_WATCH : HF_LIST, 0);
}

static void add_to_pending(struct hf_lock_watch *watch)
{
    struct hf_client *client = watch->client;

    if (!watch->in_pending) {
        watch->in_pending = true;
        watch->next = client->lock_watches;
        client->lock_watches = watch;
    }
    hf_drive_post(&client->drive);
    hf_drive_nudge(&client->drive);
}

int hf_lock_watch_start(struct hf_client *client, const char *name,
                        void (*on_report)(struct hf_lock_watch   *watch,
                                          const struct hf_report *report),
                        void *data, struct hf_lock_watch **ret)
{
    struct hf_lock_watch *watch = calloc(1, sizeof *watch);
    char                 *copy = strdup(name);

    if (watch == NULL || copy == NULL) {
        free(watch);
        free(copy);
        return HF_ENOMEM;
    }
    watch->client = client;
    watch->name = copy;
    watch->on_report = on_report;
    watch->data = data;
    add_to_pending(watch);
    *ret = watch;
    return 0;
}

void hf_lock_watch_stop(struct hf_lock_watch *watch)
{
    assert(!watch->stopped); /* it frees itself afterwards */
    watch->stopped = true;
    hf_callbacks_drop(watch->client, watch);
    add_to_pending(watch);
}

void hf_lock_watches_collect(struct hf_client *client)
{
    while (client->lock_watches != NULL) {
        struct hf_lock_watch *watch = client->lock_watches;
        client->lock_watches = watch->next;
        assert(watch->in_pending);
        watch->in_pending = false;
        if (!watch->started && watch->stopped) {
            lock_watch_free(watch);
        } else if (!watch->started) {
            watch->started = true;
            send_request(watch, HF_LIST, 0);
        } else {
            assert(watch->stopped); /* a running watch is only posted to be stopped */
            hf_query_stop(&watch->query);
        }
    }
}

void hf_lock_watches_drop(struct hf_client *client)
{
    while (client->lock_watches != NULL) {
        struct hf_lock_watch *watch = client->lock_watches;
        client->lock_watches = watch->next;
        if (!watch->started)
            lock_watch_free(watch);
    }
    while (client->engine.queries != NULL) {
        struct hf_lock_watch *watch = (struct hf_lock_watch *)client->engine.queries;
        client->engine.queries = watch->query.next;
        lock_watch_free(watch);
    }
}
