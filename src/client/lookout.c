/* lookout.c - see lookout.h. */
#include "client/lookout.h"

#include "client/publish.h"
#include "client/report.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Before trying again what a store refused. */
#define PAUSE HF_SEC

static void on_lookout_done(struct hf_errand *errand);

static void lookout_free(struct hf_lookout *lookout)
{
    hf_report_free(lookout->seen);
    free(lookout->name);
    free(lookout);
}

static void send_request(struct hf_lookout *lookout, enum hf_op op, hf_time after)
{
    struct hf_errand *errand = &lookout->errand;

    assert(op == HF_LIST ||
           lookout->seen != NULL); /* a change is one from what was seen */
    errand->req = (struct hf_req){ .op = op, .name = lookout->name };
    if (op == HF_WATCH)
        errand->req.stamp = hf_report_stamp(lookout->seen);
    errand->after = after;
    errand->deadline = HF_NEVER;
    errand->on_done = on_lookout_done;
    hf_errand_start(errand, &lookout->client->engine);
}

/* Tell of it if it looks different, and keep it to compare. */
static void compare_report(struct hf_lookout *lookout, struct hf_report *report)
{
    if (lookout->seen != NULL)
        hf_report_date(report, lookout->seen, hf_wall_us());
    bool same = lookout->seen != NULL && hf_report_same(lookout->seen, report);

    hf_report_free(lookout->seen);
    lookout->seen = report;
    if (same || lookout->stopped)
        return;
    if (hf_notice_report(lookout, hf_report_share(report)) < 0)
        hf_report_free(report);
}

/* From the engine, during a turn. */
static void on_lookout_done(struct hf_errand *errand)
{
    struct hf_lookout   *lookout = (struct hf_lookout *)errand;
    struct hf_client    *client = lookout->client;
    struct hf_report    *report = NULL;
    const struct hf_req *req = &errand->req;
    int                  status = req->status;
    bool                 listed = req->op == HF_LIST;

    assert(lookout->started);
    if (status == 0 && listed)
        status = hf_report_new(&req->line, req->stamp, &report);

    int cancel = hf_drive_begin(&client->drive);
    if (report != NULL)
        compare_report(lookout, report);
    bool stopped = lookout->stopped && !lookout->in_inbox;
    hf_drive_end(&client->drive, cancel);

    if (stopped)
        lookout_free(lookout);
    else if (status < 0)
        send_request(lookout, HF_LIST, client->engine.now + PAUSE);
    else
        send_request(lookout, listed ? HF_WATCH : HF_LIST, 0);
}

static void add_to_inbox(struct hf_lookout *lookout)
{
    struct hf_client *client = lookout->client;

    if (!lookout->in_inbox) {
        lookout->in_inbox = true;
        lookout->next = client->lookouts;
        client->lookouts = lookout;
    }
    hf_drive_post(&client->drive);
    hf_drive_nudge(&client->drive);
}

int hf_lookout_start(struct hf_client *client, const char *name,
                     void (*on_report)(struct hf_lookout      *lookout,
                                       const struct hf_report *report),
                     void *data, struct hf_lookout **ret)
{
    struct hf_lookout *lookout = calloc(1, sizeof *lookout);
    char              *copy = strdup(name);

    if (lookout == NULL || copy == NULL) {
        free(lookout);
        free(copy);
        return HF_ENOMEM;
    }
    lookout->client = client;
    lookout->name = copy;
    lookout->on_report = on_report;
    lookout->data = data;
    add_to_inbox(lookout);
    *ret = lookout;
    return 0;
}

void hf_lookout_stop(struct hf_lookout *lookout)
{
    assert(!lookout->stopped); /* from now on it frees itself */
    lookout->stopped = true;
    hf_notices_drop(lookout->client, lookout);
    add_to_inbox(lookout);
}

void hf_lookouts_collect(struct hf_client *client)
{
    while (client->lookouts != NULL) {
        struct hf_lookout *lookout = client->lookouts;
        client->lookouts = lookout->next;
        assert(lookout->in_inbox);
        lookout->in_inbox = false;
        if (!lookout->started && lookout->stopped) {
            lookout_free(lookout);
        } else if (!lookout->started) {
            lookout->started = true;
            send_request(lookout, HF_LIST, 0);
        } else {
            assert(lookout->stopped); /* nothing else is left for one that runs */
            hf_errand_stop(&lookout->errand);
        }
    }
}

void hf_lookouts_drop(struct hf_client *client)
{
    while (client->lookouts != NULL) {
        struct hf_lookout *lookout = client->lookouts;
        client->lookouts = lookout->next;
        if (!lookout->started)
            lookout_free(lookout);
    }
    while (client->engine.errands != NULL) {
        struct hf_lookout *lookout = (struct hf_lookout *)client->engine.errands;
        client->engine.errands = lookout->errand.next;
        lookout_free(lookout);
    }
}
