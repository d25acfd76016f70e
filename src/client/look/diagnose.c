/* diagnose.c - hf_doctor(): findings of the client, then those of the store. */
#include "client/look/report.h"
#include "client/look/sync_query.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INVALID_MAX 5 /* findings about invalid places */

/* Behind the struct hf_findings that the user gets. */
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

static void add_own_findings(const struct hf_client *client, struct hf_finding_list *list)
{
    hf_finding_add(list, HF_FINE, "holdfast", NULL, "%s, with stores for: %s",
                   hf_version(), hf_stores());
    hf_finding_add(list, HF_FINE, "store", NULL, "%s", client->url);
    hf_finding_add(
        list, HF_FINE, "shown", NULL, "%s",
        !client->store->shared
            ? "only its owner can read this store: commands are shown in full"
        : client->bare
            ? "others can read this store, and see our command in full"
            : "others can read this store: of commands they see the public part");
}

/* Places that make no sense, by the rule of core/line.h: the same on every store. */
static void find_invalid_places(const struct hf_report *report,
                                struct hf_finding_list *list)
{
    char   advice[512];
    size_t found = 0;

    for (size_t i = 0; i < report->count; i++) {
        const struct hf_entry *entry = report->entry[i];
        if (entry->capacity != 0 || found++ >= INVALID_MAX)
            continue;
        /* Users copy it into a shell, where the name must be one word. */
        bool plain = strchr(entry->name, '\'') == NULL;
        bool noted = entry->note[0] != '\0';
        snprintf(advice, sizeof advice,
                 "`holdfast break --token %" PRIu64
                 " %s%s%s` removes it, if nobody relies on it",
                 entry->token, plain ? "'" : "", plain ? entry->name : "NAME",
                 plain ? "'" : "");
        hf_finding_add(list, HF_FAULT, "place", advice,
                       "%" PRIu64 "%s%s%s in the queue of \"%s\" makes no sense: "
                       "it keeps others out",
                       entry->token, noted ? " (" : "", entry->note, noted ? ")" : "",
                       entry->name);
    }
}

/* Findings about holders and waiters, the same on every store. */
static void examine_lines(struct hf_client *client, const char *name,
                          struct hf_limit limit, struct hf_finding_list *list)
{
    struct hf_req     req = { .op = HF_LIST, .name = name };
    struct hf_report *report = NULL;

    if (hf_sync_query_run(client, &req, limit, &report) < 0)
        return; /* DIAGNOSE has already reported on the store */
    hf_versions_find(report, list);
    find_invalid_places(report, list);
    hf_report_free(report);
}

/* With the mutex held.  An unreachable store is a finding, not a failure. */
static int diagnose_store(struct hf_client *client, const char *name,
                          struct hf_limit limit, struct hf_finding_list *list)
{
    struct hf_req         req = { .op = HF_DIAGNOSE, .name = name };
    struct hf_sync_query *query;

    int r = hf_sync_query_start(client, &req, limit, &query);
    if (r < 0)
        return r;
    r = hf_sync_query_wait(query);
    if (r < 0)
        hf_finding_add(list, HF_FAULT, "link", NULL, "%s", client->errmsg);
    else
        hf_finding_add(list, HF_FINE, "link", NULL, "up");
    hf_finding_add_all(list, query->findings.finding, query->findings.count);
    hf_sync_query_end(query);
    if (r == 0)
        examine_lines(client, name, limit, list);
    return list->failed ? hf_client_fail(client, HF_ENOMEM, "out of memory") : 0;
}

/* The list is complete and does not move any more: point to each finding. */
static int publish_findings(struct full_findings *all)
{
    assert(all->list.count > 0); /* our own findings, at least */
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

    int r = ret != NULL ? hf_sync_query_begin(client, name, true, &cancel) : HF_EINVAL;
    if (r < 0)
        return r;
    struct full_findings *all = calloc(1, sizeof *all);
    if (all == NULL) {
        r = hf_client_fail(client, HF_ENOMEM, "out of memory");
        goto out;
    }
    struct hf_limit limit = hf_client_limit(timeout_ms);
    add_own_findings(client, &all->list);
    r = diagnose_store(client, name, limit, &all->list);
    if (r == 0 && publish_findings(all) < 0)
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
