/* trace.c - wraps a store and reports every request and its answer.
 *
 * The caller's request is not passed on itself: done() must be called here first, and
 * the inner store uses fields of the request for itself.  So each request gets a copy,
 * and the answer is copied back.
 */
#include "holdfast.h"
#include "store/store.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

struct trace {
    struct hf_store      base;
    struct hf_store_impl impl; /* has the abilities of the inner store */
    struct hf_store     *inner;
    struct copy         *copies;
    void (*tell)(const char *text, void *data);
    void *data;
};

struct copy {
    struct hf_req  req; /* the inner store gets this one */
    struct hf_req *outer;
    struct trace  *trace;
    struct copy   *next;
};

static const char *const verbs[] = {
    [HF_NOTHING] = "NOTHING",
    [HF_ENTER] = "ENTER",
    [HF_WATCH] = "WATCH",
    [HF_LEAVE] = "LEAVE",
    [HF_LIST] = "LIST",
    [HF_BREAK] = "BREAK",
    [HF_DOWNGRADE] = "DOWNGRADE",
    [HF_ASK] = "ASK",
    [HF_VERIFY] = "VERIFY",
    [HF_DIAGNOSE] = "DIAGNOSE",
    [HF_WATCH_STORE] = "WATCH_STORE",
    [HF_HISTORY] = "HISTORY",
};

static void copy_state(struct trace *trace)
{
    assert(trace->base.fd == trace->inner->fd); /* it never changes */
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
    copy_state(trace);
    if (trace->base.on_link != NULL)
        trace->base.on_link(&trace->base, trace->base.on_link_data);
}

static void remove_copy(struct trace *trace, struct copy *copy)
{
    struct copy **at = &trace->copies;

    while (*at != copy) {
        assert(*at != NULL); /* else done() was called twice (S7) */
        at = &(*at)->next;
    }
    *at = copy->next;
}

static void write_standing(char *ret, size_t size, const struct hf_standing *standing)
{
    if (standing->state == HF_STAND_WAITS)
        snprintf(ret, size, "waits, %llu ahead", (unsigned long long)standing->ahead);
    else
        snprintf(ret, size, "%s",
                 standing->state == HF_STAND_HOLDS ? "holds" : "not in line");
}

static void tell_answer(const struct copy *copy)
{
    const struct hf_req *req = &copy->req;
    char                 text[512];
    int n = snprintf(text, sizeof text, "< %s %s #%llu: ", verbs[req->op],
                     req->name != NULL ? req->name : "*", (unsigned long long)req->id);

    if (n < 0 || (size_t)n >= sizeof text)
        return;
    if (req->status != 0)
        snprintf(text + n, sizeof text - (size_t)n, "%s", hf_errname(req->status));
    else if (req->op == HF_ENTER || req->op == HF_DOWNGRADE ||
             (req->op == HF_WATCH && req->id != 0))
        write_standing(text + n, sizeof text - (size_t)n, &req->standing);
    else if (req->op == HF_DIAGNOSE)
        snprintf(text + n, sizeof text - (size_t)n, "%zu findings", req->findings);
    else if (req->op == HF_WATCH_STORE)
        snprintf(text + n, sizeof text - (size_t)n, "%zu lines", req->changes);
    else
        snprintf(text + n, sizeof text - (size_t)n, "ok");
    copy->trace->tell(text, copy->trace->data);
}

static void on_inner_done(struct hf_req *req)
{
    struct copy   *copy = req->data;
    struct trace  *trace = copy->trace;
    struct hf_req *outer = copy->outer;

    assert(req == &copy->req && outer->done != NULL);
    tell_answer(copy);
    copy_state(trace);
    outer->status = req->status;
    outer->standing = req->standing;
    outer->line = req->line;
    outer->stamp = req->stamp;
    outer->finding = req->finding;
    outer->findings = req->findings;
    outer->changed = req->changed;
    outer->changes = req->changes;
    outer->entry = req->entry;
    outer->entries = req->entries;
    remove_copy(trace, copy);
    outer->done(outer); /* the answer is lent until we return */
    free(copy);
}

static void trace_submit(struct hf_store *store, struct hf_req *req)
{
    struct trace *trace = (struct trace *)store;
    struct copy  *copy = calloc(1, sizeof *copy);
    char          text[512];

    assert(req->op > HF_NOTHING && req->op <= HF_HISTORY);
    /* Out of memory: the request matters more than its trace. */
    if (copy == NULL) {
        trace->inner->impl->submit(trace->inner, req);
        copy_state(trace);
        return;
    }
    snprintf(text, sizeof text, "> %s %s #%llu%s", verbs[req->op],
             req->name != NULL ? req->name : "*", (unsigned long long)req->id,
             req->only_free ? " only if free" : "");
    trace->tell(text, trace->data);

    *copy = (struct copy){ .req = *req, .outer = req, .trace = trace };
    copy->req.done = on_inner_done;
    copy->req.data = copy;
    copy->next = trace->copies;
    trace->copies = copy;
    trace->inner->impl->submit(trace->inner, &copy->req);
    copy_state(trace);
}

static void trace_cancel(struct hf_store *store, struct hf_req *req)
{
    struct trace  *trace = (struct trace *)store;
    struct hf_req *inner = req;

    for (struct copy *copy = trace->copies; copy != NULL; copy = copy->next)
        if (copy->outer == req)
            inner = &copy->req;
    trace->inner->impl->cancel(trace->inner, inner);
    copy_state(trace);
}

static void trace_process(struct hf_store *store, hf_time now, bool readable)
{
    struct trace *trace = (struct trace *)store;

    trace->inner->impl->process(trace->inner, now, readable);
    copy_state(trace);
}

static int trace_key(struct hf_store *store, void *ret)
{
    struct trace *trace = (struct trace *)store;

    assert(trace->inner->impl->key != NULL);
    int r = trace->inner->impl->key(trace->inner, ret);
    copy_state(trace); /* its errmsg; and it may have begun a session */
    return r;
}

static int trace_lifeline(struct hf_store *store, int *fds, int size)
{
    struct trace *trace = (struct trace *)store;

    if (trace->inner->impl->lifeline == NULL)
        return 0;
    int r = trace->inner->impl->lifeline(trace->inner, fds, size);
    copy_state(trace);
    return r;
}

static void trace_close(struct hf_store *store)
{
    struct trace *trace = (struct trace *)store;

    assert(trace->inner->on_link_data == trace); /* nobody else has set it */
    trace->inner->impl->close(trace->inner);
    while (trace->copies != NULL) {
        struct copy *copy = trace->copies;
        trace->copies = copy->next;
        free(copy);
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
    trace->impl.store_watches = inner->impl->store_watches;
    trace->impl.recalls = inner->impl->recalls;
    trace->impl.key = inner->impl->key != NULL ? trace_key : NULL;
    inner->on_link = on_inner_link;
    inner->on_link_data = trace;
    copy_state(trace);
    *ret = &trace->base;
    return 0;
}
