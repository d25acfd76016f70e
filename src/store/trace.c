/* trace.c - wraps any store and tells every request and its answer.
 *
 * The caller's request is not handed on itself: done() must come to us first,
 * and the inner store may use its own fields of the request.  So each one gets
 * a twin, and answers are copied back.
 */
#include "holdfast.h"
#include "store/store.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

struct trace {
    struct hf_store      base;
    struct hf_store_impl impl; /* can do what the inner store can */
    struct hf_store     *inner;
    struct twin         *twins;
    void (*tell)(const char *text, void *data);
    void *data;
};

struct twin {
    struct hf_req  req; /* what the inner store sees */
    struct hf_req *outer;
    struct trace  *trace;
    struct twin   *next;
};

static const char *const verbs[] = {
    [HF_NOTHING] = "NOTHING", [HF_ENTER] = "ENTER",   [HF_WATCH] = "WATCH",
    [HF_LEAVE] = "LEAVE",     [HF_LIST] = "LIST",     [HF_BREAK] = "BREAK",
    [HF_AMEND] = "AMEND",     [HF_ASK] = "ASK",       [HF_PROVE] = "PROVE",
    [HF_EXAMINE] = "EXAMINE", [HF_SURVEY] = "SURVEY", [HF_HISTORY] = "HISTORY",
};

static void mirror(struct trace *trace)
{
    assert(trace->base.fd == trace->inner->fd); /* the same for a store's whole life */
    trace->base.wake = trace->inner->wake;
    trace->base.shared = trace->inner->shared;
    trace->base.outlives = trace->inner->outlives;
    trace->base.link = trace->inner->link;
    trace->base.refusal = trace->inner->refusal;
    trace->base.failures = trace->inner->failures;
    trace->base.absences = trace->inner->absences;
    trace->base.alive_until = trace->inner->alive_until;
    trace->base.lease = trace->inner->lease;
    snprintf(trace->base.errmsg, sizeof trace->base.errmsg, "%s", trace->inner->errmsg);
}

static void on_inner_link(struct hf_store *inner, void *data)
{
    static const char *const names[] = { "down", "up", "lost" };
    struct trace            *trace = data;
    char                     text[64];

    assert(inner == trace->inner && inner->link <= HF_LINK_LOST);
    snprintf(text, sizeof text, "link %s", names[inner->link]);
    trace->tell(text, trace->data);
    mirror(trace);
    if (trace->base.on_link != NULL)
        trace->base.on_link(&trace->base, trace->base.on_link_data);
}

static void unlist(struct trace *trace, struct twin *twin)
{
    struct twin **at = &trace->twins;

    while (*at != twin) {
        assert(*at != NULL); /* done() came before, for the same request (S7) */
        at = &(*at)->next;
    }
    *at = twin->next;
}

static void write_standing(char *ret, size_t size, const struct hf_standing *standing)
{
    if (standing->state == HF_STAND_WAITS)
        snprintf(ret, size, "waits, %llu ahead", (unsigned long long)standing->ahead);
    else
        snprintf(ret, size, "%s",
                 standing->state == HF_STAND_HOLDS ? "holds" : "not in line");
}

static void tell_answer(const struct twin *twin)
{
    const struct hf_req *req = &twin->req;
    char                 text[512];
    int n = snprintf(text, sizeof text, "< %s %s #%llu: ", verbs[req->op],
                     req->name != NULL ? req->name : "*", (unsigned long long)req->id);

    if (n < 0 || (size_t)n >= sizeof text)
        return;
    if (req->status != 0)
        snprintf(text + n, sizeof text - (size_t)n, "%s", hf_errname(req->status));
    else if (req->op == HF_ENTER || req->op == HF_AMEND ||
             (req->op == HF_WATCH && req->id != 0))
        write_standing(text + n, sizeof text - (size_t)n, &req->standing);
    else if (req->op == HF_EXAMINE)
        snprintf(text + n, sizeof text - (size_t)n, "%zu findings", req->findings);
    else if (req->op == HF_SURVEY)
        snprintf(text + n, sizeof text - (size_t)n, "%zu lines", req->changes);
    else
        snprintf(text + n, sizeof text - (size_t)n, "ok");
    twin->trace->tell(text, twin->trace->data);
}

static void on_inner_done(struct hf_req *req)
{
    struct twin   *twin = req->data;
    struct trace  *trace = twin->trace;
    struct hf_req *outer = twin->outer;

    assert(req == &twin->req && outer->done != NULL);
    tell_answer(twin);
    mirror(trace);
    outer->status = req->status;
    outer->standing = req->standing;
    outer->line = req->line;
    outer->stamp = req->stamp;
    outer->finding = req->finding;
    outer->findings = req->findings;
    outer->changed = req->changed;
    outer->changes = req->changes;
    outer->past = req->past;
    outer->pasts = req->pasts;
    unlist(trace, twin);
    outer->done(outer); /* what it points to is lent until we return */
    free(twin);
}

static void trace_submit(struct hf_store *store, struct hf_req *req)
{
    struct trace *trace = (struct trace *)store;
    struct twin  *twin = calloc(1, sizeof *twin);
    char          text[512];

    assert(req->op > HF_NOTHING && req->op <= HF_HISTORY);
    /* Out of memory: the request itself matters more than its trace. */
    if (twin == NULL) {
        trace->inner->impl->submit(trace->inner, req);
        mirror(trace);
        return;
    }
    snprintf(text, sizeof text, "> %s %s #%llu%s", verbs[req->op],
             req->name != NULL ? req->name : "*", (unsigned long long)req->id,
             req->only_free ? " only if free" : "");
    trace->tell(text, trace->data);

    *twin = (struct twin){ .req = *req, .outer = req, .trace = trace };
    twin->req.done = on_inner_done;
    twin->req.data = twin;
    twin->next = trace->twins;
    trace->twins = twin;
    trace->inner->impl->submit(trace->inner, &twin->req);
    mirror(trace);
}

static void trace_cancel(struct hf_store *store, struct hf_req *req)
{
    struct trace  *trace = (struct trace *)store;
    struct hf_req *inner = req;

    for (struct twin *twin = trace->twins; twin != NULL; twin = twin->next)
        if (twin->outer == req)
            inner = &twin->req;
    trace->inner->impl->cancel(trace->inner, inner);
    mirror(trace);
}

static void trace_process(struct hf_store *store, hf_time now, bool readable)
{
    struct trace *trace = (struct trace *)store;

    trace->inner->impl->process(trace->inner, now, readable);
    mirror(trace);
}

static int trace_will(struct hf_store *store, void *ret)
{
    struct trace *trace = (struct trace *)store;

    assert(trace->inner->impl->will != NULL);
    int r = trace->inner->impl->will(trace->inner, ret);
    mirror(trace); /* it tells why not, and may have begun a session */
    return r;
}

static int trace_lifeline(struct hf_store *store, int *fds, int size)
{
    struct trace *trace = (struct trace *)store;

    if (trace->inner->impl->lifeline == NULL)
        return 0;
    int r = trace->inner->impl->lifeline(trace->inner, fds, size);
    mirror(trace);
    return r;
}

static void trace_close(struct hf_store *store)
{
    struct trace *trace = (struct trace *)store;

    assert(trace->inner->on_link_data == trace); /* nobody came in between */
    trace->inner->impl->close(trace->inner);
    while (trace->twins != NULL) {
        struct twin *twin = trace->twins;
        trace->twins = twin->next;
        free(twin);
    }
    free(trace);
}

static const struct hf_store_impl impl = {
    .scheme = "trace",
    .close = trace_close,
    .submit = trace_submit,
    .cancel = trace_cancel,
    .process = trace_process,
    .lifeline = trace_lifeline,
};

int hf_trace_open(struct hf_store *inner, void (*tell)(const char *text, void *data),
                  void *data, struct hf_store **ret)
{
    struct trace *trace = calloc(1, sizeof *trace);
    if (trace == NULL)
        return HF_ENOMEM;

    assert(tell != NULL && inner->on_link == NULL);
    *trace = (struct trace){ .impl = impl, .inner = inner, .tell = tell, .data = data };
    trace->base.impl = &trace->impl;
    trace->base.fd = inner->fd;
    trace->impl.groups = inner->impl->groups;
    trace->impl.surveys = inner->impl->surveys;
    trace->impl.recalls = inner->impl->recalls;
    trace->impl.will = inner->impl->will != NULL ? trace_will : NULL;
    inner->on_link = on_inner_link;
    inner->on_link_data = trace;
    mirror(trace);
    *ret = &trace->base;
    return 0;
}
