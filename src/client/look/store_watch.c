/* store_watch.c - following all locks of a store; see watch.h. */
#include "client/callback.h"
#include "client/look/report.h"
#include "client/look/watch.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAUSE (100 * HF_MS) /* between two rounds, unless the user sets it */
#define POLL  (1 * HF_SEC)  /* the same, if the store cannot do WATCH_STORE */
#define RETRY (1 * HF_SEC)  /* if the store refused */

#define LISTINGS 16  /* lines that are listed at a time */
#define TOO_MANY 256 /* if more lines changed, one LIST of all is cheaper */

/* One LIST of one line. */
struct listing {
    struct hf_query        query; /* first */
    struct hf_store_watch *watch;
    char                  *name; /* NULL: not in use */
};

struct hf_store_watch {
    struct hf_query               query; /* first; WATCH_STORE, or LIST of all */
    struct hf_client             *client;
    struct hf_store_watch_options options;
    hf_time                       pause;

    /* Of the thread that turns the engine. */
    struct listing      listing[LISTINGS];
    size_t              at_work; /* queries in flight */
    char              **todo;    /* names still to be listed */
    size_t              todo_count;
    bool                failed; /* a line could not be listed: list all */
    struct hf_last_seen seen;

    /* With the mutex. */
    bool                   started, stopped;
    bool                   in_pending;
    struct hf_store_watch *next;
};

/* ---- Lines to be listed ----------------------------------------------------------- */

static void drop_todo(struct hf_store_watch *watch)
{
    while (watch->todo_count > 0)
        free(watch->todo[--watch->todo_count]);
    free(watch->todo);
    watch->todo = NULL;
}

/* False: there are too many, or no memory. */
static bool plan_listings(struct hf_store_watch *watch, const struct hf_req *req)
{
    assert(watch->todo == NULL && watch->todo_count == 0);
    if (req->changes == 0 || req->changes > TOO_MANY)
        return false;
    watch->todo = calloc(req->changes, sizeof *watch->todo);
    if (watch->todo == NULL)
        return false;
    for (size_t i = 0; i < req->changes; i++) {
        watch->todo[i] = strdup(req->changed[i]);
        if (watch->todo[i] == NULL) {
            drop_todo(watch);
            return false;
        }
        watch->todo_count++;
    }
    return true;
}

/* ---- Queries ---------------------------------------------------------------------- */

static void on_store_watch_done(struct hf_query *query);
static void on_listing_done(struct hf_query *query);

static void start_query(struct hf_store_watch *watch, struct hf_query *query,
                        enum hf_op op, const char *name, hf_time after)
{
    query->req = (struct hf_req){ .op = op, .name = name };
    query->after = after;
    query->deadline = HF_NEVER;
    query->on_done = query == &watch->query ? on_store_watch_done : on_listing_done;
    watch->at_work++;
    hf_query_start(query, &watch->client->engine);
}

static void send_store_watch(struct hf_store_watch *watch, hf_time pause)
{
    hf_time now = watch->client->engine.now;
    bool    can = watch->client->store->impl->store_watches;

    if (!can && pause > 0 && pause < POLL)
        pause = POLL;
    start_query(watch, &watch->query, can ? HF_WATCH_STORE : HF_LIST, NULL,
                pause > 0 ? now + pause : 0);
}

static void send_list(struct hf_store_watch *watch)
{
    start_query(watch, &watch->query, HF_LIST, NULL, 0);
}

static void send_listings(struct hf_store_watch *watch)
{
    for (size_t i = 0; i < LISTINGS && watch->todo_count > 0; i++) {
        struct listing *listing = &watch->listing[i];
        if (listing->name != NULL)
            continue;
        listing->name = watch->todo[--watch->todo_count];
        listing->watch = watch;
        start_query(watch, &listing->query, HF_LIST, listing->name, 0);
    }
    if (watch->todo_count == 0)
        drop_todo(watch);
}

/* ---- Ends ------------------------------------------------------------------------- */

static void store_watch_free(struct hf_store_watch *watch)
{
    hf_last_seen_finish(&watch->seen);
    for (size_t i = 0; i < LISTINGS; i++)
        free(watch->listing[i].name);
    drop_todo(watch);
    free(watch);
}

/* A query is done.  True if the watch was stopped; its last query frees it. */
static bool is_stopped(struct hf_store_watch *watch)
{
    struct hf_client *client = watch->client;

    assert(watch->at_work > 0);
    watch->at_work--;
    int  cancel = hf_drive_begin(&client->drive);
    bool stopped = watch->stopped;
    bool last = stopped && !watch->in_pending && watch->at_work == 0;
    hf_drive_end(&client->drive, cancel);
    if (last)
        store_watch_free(watch);
    return stopped;
}

static void end_round(struct hf_store_watch *watch, bool complete)
{
    struct hf_client *client = watch->client;

    int cancel = hf_drive_begin(&client->drive);
    if (complete && !watch->stopped)
        (void)hf_callback_store_watch(watch, "", NULL);
    hf_drive_end(&client->drive, cancel);
}

/* WATCH_STORE or LIST of all has been answered. */
static void on_store_watch_done(struct hf_query *query)
{
    struct hf_store_watch *watch = (struct hf_store_watch *)query;
    struct hf_client      *client = watch->client;
    const struct hf_req   *req = &query->req;
    int                    status = req->status;

    if (is_stopped(watch))
        return;
    if (status == 0 && req->op == HF_WATCH_STORE) {
        if (plan_listings(watch, req))
            send_listings(watch);
        else
            send_list(watch);
        return;
    }
    if (status == 0) {
        int cancel = hf_drive_begin(&client->drive);
        status = hf_last_seen_update_all(&watch->seen, &req->line, req->stamp);
        hf_drive_end(&client->drive, cancel);
        end_round(watch, status == 0);
    }
    watch->failed = status < 0;
    if (status < 0 && req->op == HF_LIST)
        start_query(watch, query, HF_LIST, NULL, client->engine.now + RETRY);
    else
        send_store_watch(watch, status < 0 ? RETRY : watch->pause);
}

/* One line was listed. */
static void on_listing_done(struct hf_query *query)
{
    struct listing        *listing = (struct listing *)query;
    struct hf_store_watch *watch = listing->watch;
    const struct hf_req   *req = &query->req;
    struct hf_report      *report = NULL;
    int                    status = req->status;

    struct hf_line line = req->line;
    if (status == HF_EDENIED) { /* we may not see who is in it */
        line.count = 0;
        status = 0;
    }
    if (status == 0)
        status = hf_report_new(&line, req->stamp, &report);
    if (status == 0) {
        int cancel = hf_drive_begin(&watch->client->drive);
        if (watch->stopped)
            hf_report_free(report);
        else
            status = hf_last_seen_update(&watch->seen, listing->name, report);
        hf_drive_end(&watch->client->drive, cancel);
    }
    watch->failed |= status < 0;
    free(listing->name);
    listing->name = NULL;
    if (is_stopped(watch))
        return;
    if (watch->failed)
        drop_todo(watch);
    send_listings(watch);
    if (watch->at_work > 0)
        return;
    bool failed = watch->failed;
    watch->failed = false;
    end_round(watch, !failed);
    if (failed)
        start_query(watch, &watch->query, HF_LIST, NULL,
                    watch->client->engine.now + RETRY);
    else
        send_store_watch(watch, watch->pause);
}

struct hf_client *hf_store_watch_client(const struct hf_store_watch *watch)
{
    return watch->client;
}

void hf_store_watch_call(struct hf_store_watch *watch, const char *name,
                         struct hf_report *line)
{
    const struct hf_store_watch_options *options = &watch->options;

    if (line == NULL && options->on_round != NULL)
        options->on_round(watch, options->data);
    if (line != NULL)
        options->on_queue(watch, name, line, options->data);
}

/* ---- Called by users -------------------------------------------------------------- */

static void add_to_pending(struct hf_store_watch *watch)
{
    struct hf_client *client = watch->client;

    watch->in_pending = true;
    hf_drive_post(&client->drive);
    hf_drive_nudge(&client->drive);
}

static int on_line_differs(const char *name, struct hf_report *report, void *data)
{
    return hf_callback_store_watch(data, name, report);
}

static int new_store_watch(struct hf_client                    *client,
                           const struct hf_store_watch_options *given,
                           struct hf_store_watch              **ret)
{
    struct hf_store_watch_options options = HF_STORE_WATCH_INIT;
    char                          errmsg[HF_ERRMSG_MAX];

    if (given == NULL)
        return hf_client_fail(client, HF_EINVAL, "a store watch needs options");
    int r =
        hf_options_copy(given, sizeof options, "HF_STORE_WATCH_INIT", &options, errmsg);
    if (r < 0)
        return hf_client_fail(client, r, "%s", errmsg);
    if (options.on_queue == NULL)
        return hf_client_fail(client, HF_EINVAL, "a store watch needs on_queue");
    if (options.pause_ms < 0)
        return hf_client_fail(client, HF_EINVAL, "pause_ms of a store watch is negative");
    if (client->watch != NULL)
        return hf_client_fail(client, HF_ESTATE, "this client has a store watch already");
    struct hf_store_watch *watch = calloc(1, sizeof *watch);
    if (watch == NULL)
        return hf_client_fail(client, HF_ENOMEM, "out of memory");
    watch->client = client;
    watch->options = options;
    watch->pause = options.pause_ms > 0 ? options.pause_ms * HF_MS : PAUSE;
    watch->seen.on_differs = on_line_differs;
    watch->seen.data = watch;
    client->watch = watch;
    add_to_pending(watch);
    *ret = watch;
    return 0;
}

int hf_store_watch_new(struct hf_client                    *client,
                       const struct hf_store_watch_options *options,
                       struct hf_store_watch              **ret)
{
    int cancel;

    int r = ret != NULL ? hf_client_begin(client, &cancel) : HF_EINVAL;
    if (r < 0)
        return r;
    r = new_store_watch(client, options, ret);
    hf_client_end(client, cancel);
    return r;
}

void hf_store_watch_free(struct hf_store_watch *watch)
{
    int cancel;

    if (watch == NULL || hf_client_begin(watch->client, &cancel) < 0)
        return;
    struct hf_client *client = watch->client;
    assert(!watch->stopped); /* it frees itself afterwards */
    hf_callbacks_settle(client, watch);
    watch->stopped = true;
    hf_callbacks_drop(client, watch);
    watch->next = client->stopped_watches;
    client->stopped_watches = watch;
    client->watch = NULL;
    add_to_pending(watch);
    hf_client_end(client, cancel);
}

/* ---- With the engine -------------------------------------------------------------- */

void hf_store_watches_collect(struct hf_client *client)
{
    struct hf_store_watch *watch = client->watch;

    if (watch != NULL && watch->in_pending) {
        watch->in_pending = false;
        watch->started = true;
        if (client->watched_store) /* the store may remember what the last one saw */
            send_list(watch);
        else
            send_store_watch(watch, 0);
        client->watched_store = true;
    }
    while ((watch = client->stopped_watches) != NULL) {
        client->stopped_watches = watch->next;
        watch->in_pending = false;
        if (watch->at_work == 0) {
            store_watch_free(watch);
            continue;
        }
        for (size_t i = 0; i < LISTINGS; i++)
            if (watch->listing[i].name != NULL)
                hf_query_stop(&watch->listing[i].query);
        hf_query_stop(&watch->query);
    }
}

/* The store watch of a query, or NULL. */
static struct hf_store_watch *store_watch_of(struct hf_query *query)
{
    if (query->on_done == on_store_watch_done)
        return (struct hf_store_watch *)query;
    return query->on_done == on_listing_done ? ((struct listing *)query)->watch : NULL;
}

void hf_store_watches_drop(struct hf_client *client)
{
    struct hf_query **at = &client->engine.queries;

    /* A watch without queries is freed here, any other with its last query. */
    if (client->watch != NULL && client->watch->at_work == 0)
        store_watch_free(client->watch);
    while (client->stopped_watches != NULL) {
        struct hf_store_watch *watch = client->stopped_watches;
        client->stopped_watches = watch->next;
        if (watch->at_work == 0)
            store_watch_free(watch);
    }
    while (*at != NULL) {
        struct hf_store_watch *watch = store_watch_of(*at);
        if (watch == NULL) {
            at = &(*at)->next;
            continue;
        }
        *at = (*at)->next;
        if (--watch->at_work == 0)
            store_watch_free(watch);
    }
}
