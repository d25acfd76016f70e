/* doctor.c - hf_doctor(): what the client knows, then what the store tells. */
#include "client/query.h"
#include "client/versions.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STRANGE_MAX 5 /* that are told of */

/* What a user's findings really are. */
struct full_findings {
    struct hf_findings public; /* first */
    struct hf_finding_list    list;
    const struct hf_finding **each; /* of the list */
};

void hf_findings_free(struct hf_findings *findings)
{
    struct full_findings *all = (struct full_findings *)findings;

    if (all == NULL)
        return;
    hf_finding_list_clear(&all->list);
    free(all->each);
    free(all);
}

static void tell_ourselves(const struct hf_client *client, struct hf_finding_list *list)
{
    hf_finding_add(list, HF_FINE, "holdfast", NULL, "%s, with stores for: %s",
                   hf_version(), hf_stores());
    hf_finding_add(list, HF_FINE, "store", NULL, "%s", client->url);
    hf_finding_add(
        list, HF_FINE, "shown", NULL, "%s",
        !client->store->shared
            ? "nobody but its owner can look at this store: commands are shown whole"
        : client->bare
            ? "others can look at this store, and see our command whole"
            : "others can look at this store: of commands they see what is public");
}

/* Places that make no sense: whatever the store, who looks them over is the one rule. */
static void tell_strange(const struct hf_report *report, struct hf_finding_list *list)
{
    char   advice[512];
    size_t found = 0;

    for (size_t i = 0; i < report->count; i++) {
        const struct hf_entry *entry = report->entry[i];
        if (entry->capacity != 0 || found++ >= STRANGE_MAX)
            continue;
        /* It is to be copied into a shell, so it must be one word there. */
        bool plain = strchr(entry->name, '\'') == NULL;
        snprintf(advice, sizeof advice,
                 "`holdfast break --token %" PRIu64
                 " %s%s%s` removes it, if nobody relies on it",
                 entry->token, plain ? "'" : "", plain ? entry->name : "NAME",
                 plain ? "'" : "");
        hf_finding_add(list, HF_FAULT, "place", advice,
                       "%" PRIu64
                       " in the line of \"%s\" makes no sense: nobody gets past it",
                       entry->token, entry->name);
    }
}

/* What is in line tells the same on every store. */
static void tell_lines(struct hf_client *client, const char *name, struct hf_limit limit,
                       struct hf_finding_list *list)
{
    struct hf_req     req = { .op = HF_LIST, .name = name };
    struct hf_report *report = NULL;

    if (hf_query_run(client, &req, limit, &report) < 0)
        return; /* the store has said already how it is */
    hf_versions_tell(report, list);
    tell_strange(report, list);
    hf_report_free(report);
}

/* With the mutex held.  Only what is the caller's fault is a failure. */
static int examine_store(struct hf_client *client, const char *name,
                         struct hf_limit limit, struct hf_finding_list *list)
{
    struct hf_req    req = { .op = HF_EXAMINE, .name = name };
    struct hf_query *query;

    int r = hf_query_start(client, &req, limit, &query);
    if (r < 0)
        return r;
    r = hf_query_wait(query);
    if (r < 0)
        hf_finding_add(list, HF_FAULT, "link", NULL, "%s", client->errmsg);
    else
        hf_finding_add(list, HF_FINE, "link", NULL, "up");
    hf_finding_add_all(list, query->findings.finding, query->findings.count);
    hf_query_end(query);
    if (r == 0)
        tell_lines(client, name, limit, list);
    return list->failed ? hf_client_fail(client, HF_ENOMEM, "out of memory") : 0;
}

/* The list is whole now, and stays where it is. */
static int show_each(struct full_findings *all)
{
    assert(all->list.count > 0); /* we tell of ourselves, if of nobody else */
    all->each = calloc(all->list.count, sizeof *all->each);
    if (all->each == NULL)
        return HF_ENOMEM;
    for (size_t i = 0; i < all->list.count; i++)
        all->each[i] = &all->list.finding[i];
    all->public = (struct hf_findings){ .finding = all->each, .count = all->list.count };
    return 0;
}

int hf_doctor(struct hf_client *client, const char *name, int64_t timeout_ms,
              struct hf_findings **ret)
{
    int cancel;

    int r = ret != NULL ? hf_query_begin(client, name, true, &cancel) : HF_EINVAL;
    if (r < 0)
        return r;
    struct full_findings *all = calloc(1, sizeof *all);
    if (all == NULL) {
        r = hf_client_fail(client, HF_ENOMEM, "out of memory");
        goto out;
    }
    struct hf_limit limit = hf_client_limit(timeout_ms);
    tell_ourselves(client, &all->list);
    r = examine_store(client, name, limit, &all->list);
    if (r == 0 && show_each(all) < 0)
        r = hf_client_fail(client, HF_ENOMEM, "out of memory");
    if (r < 0) {
        hf_findings_free(&all->public);
        goto out;
    }
    *ret = &all->public;
out:
    hf_client_end(client, cancel);
    return r;
}
