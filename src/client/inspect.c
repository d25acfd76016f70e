/* inspect.c - hf_inspect(), hf_watch(), hf_break(): errands of the engine. */
#include "client/inspect.h"

#include "base/name.h"
#include "client/report.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Made by a caller, worked on by whoever turns, freed by the last of the two. */
struct hf_query {
    struct hf_errand  errand; /* first */
    struct hf_client *client;
    char             *name;
    char             *note;
    struct hf_report *report;
    int               status;
    bool              done;
    bool              abandoned;
    struct hf_query  *next;
};

static void query_free(struct hf_query *query)
{
    hf_report_free(query->report);
    free(query->name);
    free(query->note);
    free(query);
}

/* From the engine, during a turn: without the mutex, so take it. */
static void on_done(struct hf_errand *errand)
{
    struct hf_query  *query = (struct hf_query *)errand;
    struct hf_client *client = query->client;
    struct hf_report *report = NULL;
    int               status = errand->req.status;

    if (status == 0 && errand->req.op == HF_LIST)
        status = hf_report_new(&errand->req.snapshot, errand->req.stamp, &report);

    int cancel = hf_drive_begin(&client->drive);
    if (status < 0)
        hf_client_fail(client, status, "%s",
                       client->store->errmsg[0] != '\0' ? client->store->errmsg
                                                        : hf_strerror(status));
    query->status = status;
    query->report = report;
    query->done = true;
    if (query->abandoned)
        query_free(query);
    hf_drive_end(&client->drive, cancel);
}

void hf_queries_collect(struct hf_client *client)
{
    while (client->queries != NULL) {
        struct hf_query *query = client->queries;
        client->queries = query->next;
        hf_errand_start(&query->errand, &client->engine);
    }
}

void hf_queries_drop(struct hf_client *client)
{
    hf_queries_collect(client);
    struct hf_errand **at = &client->engine.errands;
    while (*at != NULL) {
        struct hf_query *query = (struct hf_query *)*at;
        if (query->errand.on_done != on_done) { /* somebody else's */
            at = &(*at)->next;
            continue;
        }
        *at = query->errand.next;
        query_free(query);
    }
}

static bool is_done(void *arg)
{
    const struct hf_query *query = arg;

    return query->done;
}

/* Run one request; with the mutex held. */
static int ask(struct hf_client *client, const struct hf_req *req, hf_time deadline,
               struct hf_report **ret)
{
    struct hf_query *query = calloc(1, sizeof *query);
    if (query == NULL)
        return hf_client_fail(client, HF_ENOMEM, "out of memory");
    query->client = client;
    query->errand = (struct hf_errand){ .req = *req, .deadline = deadline };
    query->errand.on_done = on_done;
    if (req->name != NULL && (query->name = strdup(req->name)) == NULL) {
        query_free(query);
        return hf_client_fail(client, HF_ENOMEM, "out of memory");
    }
    query->errand.req.name = query->name;
    if (req->note != NULL && (query->note = strdup(req->note)) == NULL) {
        query_free(query);
        return hf_client_fail(client, HF_ENOMEM, "out of memory");
    }
    query->errand.req.note = query->note;
    query->next = client->queries;
    client->queries = query;
    hf_drive_post(&client->drive);

    /* The engine ends it at the deadline; if it is stuck, so are not we. */
    if (hf_drive_wait(&client->drive, is_done, query, deadline) < 0) {
        hf_drive_turn(&client->drive, false);
        if (!query->done) {
            query->abandoned = true;
            return hf_client_fail(client, HF_EDOWN, "the store does not answer");
        }
    }
    int r = query->status;
    if (r == 0 && ret != NULL) {
        *ret = query->report;
        query->report = NULL;
    }
    query_free(query);
    return r;
}

static int check_name(struct hf_client *client, const char *name)
{
    const char *fault = hf_name_fault(name);

    if (fault == NULL)
        return 0;
    return hf_client_fail(client, HF_EINVAL,
                          "the lock name %s; use 1 to 255 bytes of plain text", fault);
}

/* What every call here begins with.  `all`: NULL stands for all names. */
static int begin(struct hf_client *client, const char *name, bool all, int *cancel)
{
    int r = hf_client_check(client);
    if (r < 0)
        return r;
    *cancel = hf_drive_begin(&client->drive);
    if (name != NULL || !all)
        r = check_name(client, name);
    if (r < 0)
        hf_drive_end(&client->drive, *cancel);
    return r;
}

int hf_inspect(struct hf_client *client, const char *name, int64_t timeout_ms,
               struct hf_report **ret)
{
    struct hf_req req = { .op = HF_LIST, .name = name };
    int           cancel;

    int r = begin(client, name, true, &cancel);
    if (r < 0)
        return r;
    r = ask(client, &req, hf_after_ms(hf_now(), timeout_ms), ret);
    hf_drive_end(&client->drive, cancel);
    return r;
}

static int watch(struct hf_client *client, const char *name, const struct hf_report *seen,
                 hf_time deadline, struct hf_report **ret)
{
    struct hf_req     list = { .op = HF_LIST, .name = name };
    struct hf_req     wait = { .op = HF_WATCH, .name = name };
    struct hf_report *report = NULL;

    wait.stamp = seen != NULL ? hf_report_stamp(seen) : 0;
    for (;;) {
        int r = seen != NULL ? ask(client, &wait, deadline, NULL) : 0;
        if (r == 0)
            r = ask(client, &list, deadline, &report);
        if (r < 0)
            return r;
        /* A watch may end too often: only a difference counts. */
        if (seen == NULL || !hf_report_same(seen, report))
            break;
        wait.stamp = hf_report_stamp(report);
        hf_report_free(report);
    }
    *ret = report;
    return 0;
}

int hf_watch(struct hf_client *client, const char *name, const struct hf_report *seen,
             int64_t timeout_ms, struct hf_report **ret)
{
    int cancel;

    int r = begin(client, name, false, &cancel);
    if (r < 0)
        return r;
    r = watch(client, name, seen, hf_after_ms(hf_now(), timeout_ms), ret);
    hf_drive_end(&client->drive, cancel);
    return r;
}

/* Stores know a place by its seq, people by its token. */
static int break_place(struct hf_client *client, const char *name, uint64_t token,
                       hf_time deadline)
{
    struct hf_req     list = { .op = HF_LIST, .name = name };
    struct hf_report *report = NULL;

    int r = ask(client, &list, deadline, &report);
    if (r < 0)
        return r;
    struct hf_req req = { .op = HF_BREAK, .name = name };
    req.seq = hf_report_seq(report, token);
    hf_report_free(report);
    r = req.seq != 0 ? ask(client, &req, deadline, NULL) : HF_ENOTFOUND;
    if (r == HF_ENOTFOUND)
        hf_client_fail(client, r, "\"%s\" has no place %llu (any more)", name,
                       (unsigned long long)token);
    return r;
}

int hf_break(struct hf_client *client, const char *name, uint64_t token,
             int64_t timeout_ms)
{
    int cancel;

    int r = begin(client, name, false, &cancel);
    if (r < 0)
        return r;
    r = break_place(client, name, token, hf_after_ms(hf_now(), timeout_ms));
    hf_drive_end(&client->drive, cancel);
    return r;
}

/* Leave word at every place of `report` that is held. */
static int ask_holders(struct hf_client *client, const struct hf_report *report,
                       const char *reason, hf_time deadline)
{
    int asked = 0;

    assert(report != NULL);
    for (size_t i = 0; i < report->count; i++) {
        const struct hf_entry *entry = &report->entry[i];
        if (!entry->held)
            continue;
        struct hf_req req = { .op = HF_ASK, .name = entry->name, .note = reason };
        req.seq = hf_report_seq(report, entry->token);
        int r = ask(client, &req, deadline, NULL);
        if (r < 0 && r != HF_ENOTFOUND)
            return r;
        asked += r == 0;
    }
    return asked;
}

static int ask_for(struct hf_client *client, const char *name, const char *reason,
                   hf_time deadline)
{
    struct hf_req     list = { .op = HF_LIST, .name = name };
    struct hf_report *report = NULL;

    int r = ask(client, &list, deadline, &report);
    if (r < 0)
        return r;
    r = ask_holders(client, report, reason, deadline);
    hf_report_free(report);
    if (r == 0)
        r = hf_client_fail(client, HF_ENOTFOUND, "nobody holds \"%s\"", name);
    return r;
}

int hf_ask(struct hf_client *client, const char *name, const char *reason,
           int64_t timeout_ms)
{
    int cancel;

    int r = begin(client, name, false, &cancel);
    if (r < 0)
        return r;
    r = ask_for(client, name, reason != NULL ? reason : "",
                hf_after_ms(hf_now(), timeout_ms));
    hf_drive_end(&client->drive, cancel);
    return r;
}
