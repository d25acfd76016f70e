/* sync_query.c - see sync_query.h. */
#include "client/look/sync_query.h"

#include "client/look/report.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void query_free(struct hf_sync_query *query)
{
    hf_report_free(query->report);
    hf_history_report_free(query->history);
    hf_finding_list_clear(&query->findings);
    free(query->name);
    free(query->note);
    free(query);
}

/* ---- In the engine ---------------------------------------------------------------- */

/* The store says that we do not hold the lock.  Its place may still exist, so it has to
 * be left.  Ids are never used twice. */
static void lose_place(struct hf_engine *engine, uint64_t id)
{
    struct hf_job *job = engine->jobs;

    while (job != NULL && job->hold.id != id)
        job = job->next;
    if (job != NULL && job->hold.state == HF_HOLD_HELD)
        hf_job_step(job, &(struct hf_event){ .what = HF_EXPIRED });
}

/* Copy the answer: it is lent only until we return. */
static int keep_answer(struct hf_sync_query *query)
{
    const struct hf_req *req = &query->query.req;

    assert(query->report == NULL && query->findings.count == 0);
    if (req->status < 0)
        return req->status;
    if (req->op == HF_LIST)
        return hf_report_new(&req->line, req->stamp, &query->report);
    if (req->op == HF_HISTORY)
        return hf_history_report_new(req, &query->history);
    if (req->op == HF_DIAGNOSE)
        hf_finding_add_all(&query->findings, req->finding, req->findings);
    return query->findings.failed ? HF_ENOMEM : 0;
}

static const char *timeout_text(bool watch)
{
    return watch ? HF_SAME : "the store did not answer in time";
}

static void explain_status(struct hf_sync_query *query)
{
    const char *text = query->client->store->errmsg;

    if (query->status == HF_ETIMEOUT)
        text = timeout_text(query->query.req.op == HF_WATCH);
    else if (text[0] == '\0')
        text = hf_strerror(query->status);
    snprintf(query->errmsg, sizeof query->errmsg, "%s", text);
}

/* During a turn: it is published after it, together with all other results. */
static void on_sync_query_done(struct hf_query *base)
{
    struct hf_sync_query *query = (struct hf_sync_query *)base;
    struct hf_client     *client = query->client;
    const struct hf_req  *req = &base->req;

    assert(query->collected && !query->done);
    query->status = keep_answer(query);
    explain_status(query);
    if (req->op == HF_VERIFY && req->id != 0 && req->status == HF_ELOST)
        lose_place(&client->engine, req->id);
    query->next = client->answered;
    client->answered = query;
}

void hf_sync_queries_collect(struct hf_client *client)
{
    while (client->queries != NULL) {
        struct hf_sync_query *query = client->queries;
        client->queries = query->next;
        assert(!query->collected && !query->done);
        query->collected = true;
        hf_query_start(&query->query, &client->engine);
    }
}

void hf_sync_queries_publish(struct hf_client *client)
{
    while (client->answered != NULL) {
        struct hf_sync_query *query = client->answered;
        client->answered = query->next;
        query->done = true;
        if (query->abandoned)
            query_free(query);
    }
}

void hf_sync_queries_drop(struct hf_client *client)
{
    hf_sync_queries_collect(client);
    struct hf_query **at = &client->engine.queries;
    while (*at != NULL) {
        struct hf_sync_query *query = (struct hf_sync_query *)*at;
        if (query->query.on_done != on_sync_query_done) { /* of a watch */
            at = &(*at)->next;
            continue;
        }
        *at = query->query.next;
        query_free(query);
    }
}

/* ---- In the caller's thread -------------------------------------------------------- */

int hf_sync_query_begin(struct hf_client *client, const char *name, bool all, int *cancel)
{
    int r = hf_client_begin(client, cancel);
    if (r < 0)
        return r;
    if (name != NULL || !all)
        r = hf_client_check_name(client, name);
    if (r < 0)
        hf_client_end(client, *cancel);
    return r;
}

/* NULL stays NULL. */
static bool copy_text(const char *text, char **ret)
{
    *ret = text != NULL ? strdup(text) : NULL;
    return text == NULL || *ret != NULL;
}

int hf_sync_query_start(struct hf_client *client, const struct hf_req *req,
                        struct hf_limit limit, struct hf_sync_query **ret)
{
    assert(req->op != HF_ENTER && req->op != HF_LEAVE); /* only jobs have places */
    struct hf_sync_query *query = calloc(1, sizeof *query);
    if (query == NULL)
        return hf_client_fail(client, HF_ENOMEM, "out of memory");
    if (!copy_text(req->name, &query->name) || !copy_text(req->note, &query->note)) {
        query_free(query);
        return hf_client_fail(client, HF_ENOMEM, "out of memory");
    }
    query->client = client;
    query->query = (struct hf_query){ .req = *req, .deadline = limit.deadline };
    query->query.once = limit.once;
    query->query.on_done = on_sync_query_done;
    query->query.req.name = query->name;
    query->query.req.note = query->note;
    query->next = client->queries;
    client->queries = query;
    hf_drive_post(&client->drive);
    *ret = query;
    return 0;
}

static bool is_done(void *arg)
{
    const struct hf_sync_query *query = arg;

    return query->done;
}

int hf_sync_query_result(const struct hf_sync_query *query)
{
    struct hf_client *client = query->client;

    if (!query->done) { /* the store did not cancel it in time */
        bool watch = query->query.req.op == HF_WATCH;
        if (client->link == HF_LINK_UP)
            return hf_client_fail(client, HF_ETIMEOUT, "%s", timeout_text(watch));
        return hf_client_fail(client, HF_EDOWN, "the store does not answer");
    }
    if (query->status < 0)
        hf_client_fail(client, query->status, "%s", query->errmsg);
    return query->status;
}

int hf_sync_query_wait(struct hf_sync_query *query)
{
    struct hf_drive *drive = &query->client->drive;

    /* The engine ends it at the deadline; if the engine is stuck, we return all the
     * same. */
    if (hf_drive_wait(drive, is_done, query, query->query.deadline) < 0)
        hf_drive_turn(drive, false);
    return hf_sync_query_result(query);
}

void hf_sync_query_end(struct hf_sync_query *query)
{
    assert(!query->abandoned);
    if (query->collected && !query->done) {
        query->abandoned = true;
        return;
    }
    if (!query->done) {
        struct hf_sync_query **at = &query->client->queries;
        while (*at != query)
            at = &(*at)->next;
        *at = query->next;
    }
    query_free(query);
}

int hf_sync_query_run(struct hf_client *client, const struct hf_req *req,
                      struct hf_limit limit, struct hf_report **ret)
{
    struct hf_sync_query *query = NULL;

    assert(ret == NULL || req->op == HF_LIST);
    int r = hf_sync_query_start(client, req, limit, &query);
    if (query == NULL)
        return r;
    r = hf_sync_query_wait(query);
    if (r == 0 && ret != NULL) {
        *ret = query->report;
        query->report = NULL;
    }
    hf_sync_query_end(query);
    return r;
}
