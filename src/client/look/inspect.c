/* inspect.c - hf_inspect(), hf_watch(), hf_break(), hf_ask(). */
#include "client/look/note.h"
#include "client/look/report.h"
#include "client/look/sync_query.h"

#include <assert.h>

static int list_line(struct hf_client *client, const char *name, struct hf_limit limit,
                     struct hf_report **ret)
{
    struct hf_req req = { .op = HF_LIST, .name = name };

    return hf_sync_query_run(client, &req, limit, ret);
}

int hf_inspect(struct hf_client *client, const char *name, int64_t timeout_ms,
               struct hf_report **ret)
{
    int cancel;

    int r = ret != NULL ? hf_sync_query_begin(client, name, true, &cancel) : HF_EINVAL;
    if (r < 0)
        return r;
    r = list_line(client, name, hf_client_limit(timeout_ms), ret);
    hf_client_end(client, cancel);
    return r;
}

static int watch(struct hf_client *client, const char *name, const struct hf_report *seen,
                 struct hf_limit limit, struct hf_report **ret)
{
    struct hf_req     wait = { .op = HF_WATCH, .name = name };
    struct hf_report *report = NULL;

    wait.stamp = seen != NULL ? hf_report_stamp(seen) : 0;
    for (;;) {
        int r = seen != NULL && !limit.once
                    ? hf_sync_query_run(client, &wait, limit, NULL)
                    : 0;
        if (r == 0)
            r = list_line(client, name, limit, &report);
        if (r < 0)
            return r;
        /* A watch may end although nothing changed: only a difference counts. */
        if (seen == NULL || !hf_report_same(seen, report))
            break;
        wait.stamp = hf_report_stamp(report);
        hf_report_free(report);
        if (limit.once)
            return hf_client_fail(client, HF_ETIMEOUT, HF_SAME);
    }
    *ret = report;
    return 0;
}

int hf_watch(struct hf_client *client, const char *name, const struct hf_report *seen,
             int64_t timeout_ms, struct hf_report **ret)
{
    int cancel;

    int r = ret != NULL ? hf_sync_query_begin(client, name, false, &cancel) : HF_EINVAL;
    if (r < 0)
        return r;
    r = watch(client, name, seen, hf_client_limit(timeout_ms), ret);
    hf_client_end(client, cancel);
    return r;
}

static int break_place(struct hf_client *client, const char *name, uint64_t token,
                       struct hf_limit limit)
{
    char by[400];

    hf_note_by(by, sizeof by);
    struct hf_req req = { .op = HF_BREAK, .name = name, .token = token, .note = by };
    int           r = hf_sync_query_run(client, &req, limit, NULL);
    if (r == HF_ENOTFOUND)
        hf_client_fail(client, r, "\"%s\" has no place %llu (any more)", name,
                       (unsigned long long)token);
    return r;
}

int hf_break(struct hf_client *client, const char *name, uint64_t token,
             int64_t timeout_ms)
{
    int cancel;

    int r = hf_sync_query_begin(client, name, false, &cancel);
    if (r < 0)
        return r;
    r = break_place(client, name, token, hf_client_limit(timeout_ms));
    hf_client_end(client, cancel);
    return r;
}

/* Send the reason to every holder in `report`. */
static int ask_holders(struct hf_client *client, const char *name,
                       const struct hf_report *report, const char *reason,
                       struct hf_limit limit)
{
    int asked = 0;

    assert(report != NULL);
    for (size_t i = 0; i < report->count; i++) {
        const struct hf_entry *entry = report->entry[i];
        if (!entry->held)
            continue;
        struct hf_req req = { .op = HF_ASK, .name = name, .note = reason };
        req.token = entry->token;
        int r = hf_sync_query_run(client, &req, limit, NULL);
        if (r < 0 && r != HF_ENOTFOUND)
            return r;
        asked += r == 0;
    }
    return asked;
}

static int ask_for(struct hf_client *client, const char *name, const char *reason,
                   struct hf_limit limit)
{
    struct hf_report *report = NULL;

    int r = list_line(client, name, limit, &report);
    if (r < 0)
        return r;
    r = ask_holders(client, name, report, reason, limit);
    hf_report_free(report);
    if (r == 0)
        r = hf_client_fail(client, HF_ENOTFOUND, "nobody holds \"%s\"", name);
    return r;
}

int hf_ask(struct hf_client *client, const char *name, const char *reason,
           int64_t timeout_ms)
{
    int cancel;

    int r = hf_sync_query_begin(client, name, false, &cancel);
    if (r < 0)
        return r;
    r = ask_for(client, name, reason != NULL ? reason : "", hf_client_limit(timeout_ms));
    hf_client_end(client, cancel);
    return r;
}
