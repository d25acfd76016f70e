/* task.c - a request at work, from submit() to done(); see task.h. */
#include "store/remote/task.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* Limits of one process(), so that others get their turn. */
#define ROUNDS    16   /* done() may submit again and again */
#define BEGUN_MAX 4096 /* but a group is never split */

/* Begin more once so few calls are in flight: many at a time, since ZooKeeper lists a line
 * once for all that begin together. */
#define FLYING_LOW (HF_FLYING_MAX / 2)

void hf_remote_init(struct hf_remote *remote, const struct hf_remote_ops *ops,
                    struct hf_dial *dial)
{
    assert(ops->task_size >= sizeof(struct hf_task));
    remote->ops = ops;
    remote->dial = dial;
    remote->base.shared = remote->base.outlives = true;
    remote->base.link = HF_LINK_DOWN;
    remote->tasks_end = &remote->tasks;
}

static void call_done(const struct hf_remote *remote, struct hf_req *req, int status)
{
    assert(req->work == NULL);
    req->status = status;
    if (!remote->closing)
        req->done(req);
}

/* ---- WAITING ------------------------------------------------------------------ */

void hf_remote_submit(struct hf_store *store, struct hf_req *req)
{
    struct hf_remote *remote = (struct hf_remote *)store;

    assert(!remote->closing);
    assert(req->op > HF_NOTHING && req->op <= HF_HISTORY && req->done != NULL);
    assert(req->name != NULL || hf_req_may_name_none(req));
    req->canceled = false;
    req->work = NULL;
    hf_requests_append(&remote->waiting, req);
    store->wake = 0;
}

#define STAYS 1

/* The status with which a request that is not at work ends now; STAYS: it does not. */
static int fate(const struct hf_remote *remote, const struct hf_req *req, int ready)
{
    if (req->canceled && hf_req_may_end(req, false))
        return HF_ECANCELED;
    if (ready >= 0)
        return STAYS;
    if (req->op == HF_LEAVE)
        return remote->ops->may_have(remote, req->id) ? STAYS : 0;
    return ready;
}

/* Requests that stay keep their order, ahead of those that done() submits. */
static void end_early(struct hf_remote *remote, struct hf_requests *list, int ready)
{
    struct hf_requests all = *list, stay = { 0 };
    struct hf_req     *req;

    *list = (struct hf_requests){ 0 };
    while ((req = hf_requests_take(&all)) != NULL) {
        int status = fate(remote, req, ready);
        if (status == STAYS)
            hf_requests_append(&stay, req);
        else
            call_done(remote, req, status);
    }
    while ((req = hf_requests_take(list)) != NULL)
        hf_requests_append(&stay, req);
    *list = stay;
}

/* ---- AT WORK ------------------------------------------------------------------ */

static struct hf_task *task_new(struct hf_remote *remote, struct hf_req *req)
{
    struct hf_task *task = calloc(1, remote->ops->task_size);
    if (task == NULL)
        return NULL;
    task->remote = remote;
    task->req = req;
    task->prev = remote->tasks_end;
    *remote->tasks_end = task;
    remote->tasks_end = &task->next;
    req->work = task;
    req->line = (struct hf_line){ 0 };
    if (req->op != HF_WATCH)
        req->standing = (struct hf_standing){ .state = HF_STAND_NONE, .slot = -1 };
    if (req->op != HF_WATCH && req->op != HF_HISTORY)
        req->stamp = 0;
    req->changes = 0;
    req->entries = 0;
    return task;
}

static void begin_request(struct hf_remote *remote, struct hf_req *req)
{
    assert(req->work == NULL);
    if (req->canceled && hf_req_may_end(req, false)) {
        call_done(remote, req, HF_ECANCELED);
        return;
    }
    struct hf_task *task = task_new(remote, req);
    if (task != NULL) {
        remote->ops->begin(task);
        return;
    }
    snprintf(remote->base.errmsg, sizeof remote->base.errmsg, "out of memory");
    call_done(remote, req, HF_ENOMEM);
}

static void mark_canceled(struct hf_remote *remote, struct hf_task *task)
{
    assert(task->prev_canceled == NULL);
    task->next_canceled = remote->canceled;
    task->prev_canceled = &remote->canceled;
    if (task->next_canceled != NULL)
        task->next_canceled->prev_canceled = &task->next_canceled;
    remote->canceled = task;
}

static void unmark_canceled(struct hf_task *task)
{
    if (task->prev_canceled == NULL)
        return;
    *task->prev_canceled = task->next_canceled;
    if (task->next_canceled != NULL)
        task->next_canceled->prev_canceled = task->prev_canceled;
    task->prev_canceled = NULL;
}

void hf_remote_cancel(struct hf_store *store, struct hf_req *req)
{
    struct hf_remote *remote = (struct hf_remote *)store;
    struct hf_task   *task = req->work;

    assert(task == NULL || (task->remote == remote && task->req == req));
    if (task == NULL)
        remote->cancels = true;
    else if (hf_req_may_end(req, true) && !req->canceled)
        mark_canceled(remote, task);
    req->canceled = true;
    store->wake = 0;
}

/* Detach the task from its request and from all lists. */
static void take_out(struct hf_task *task)
{
    struct hf_remote *remote = task->remote;

    assert(task->req->work == task);
    remote->ops->end_task(task);
    unmark_canceled(task); /* the answer came first */
    *task->prev = task->next;
    if (task->next != NULL)
        task->next->prev = task->prev;
    else
        remote->tasks_end = task->prev;
    task->req->work = NULL;
}

static void task_free(struct hf_task *task)
{
    if (task->remote->ops->free_task != NULL)
        task->remote->ops->free_task(task);
    free(task);
}

void hf_task_finish(struct hf_task *task, int status)
{
    struct hf_req *req = task->req;

    assert(status <= 0);
    req->status = status;
    take_out(task);
    call_done(task->remote, req, status);
    task_free(task);
}

void hf_task_fail(struct hf_task *task, int status, const char *format, ...)
{
    struct hf_store *store = &task->remote->base;
    va_list          args;

    assert(status < 0);
    va_start(args, format);
    vsnprintf(store->errmsg, sizeof store->errmsg, format, args);
    va_end(args);
    hf_task_finish(task, status);
}

void hf_task_again(struct hf_task *task)
{
    struct hf_remote *remote = task->remote;
    struct hf_req    *req = task->req;

    take_out(task);
    hf_requests_append(&remote->repeat, req);
    remote->cancels |= req->canceled;
    remote->base.wake = 0;
    task_free(task);
}

/* ---- All of them -------------------------------------------------------------- */

void hf_remote_sent(struct hf_remote *remote)
{
    remote->flying++;
}

void hf_remote_answered(struct hf_remote *remote)
{
    assert(remote->flying > 0);
    remote->flying--;
}

static bool may_begin_any(const struct hf_remote *remote)
{
    return (remote->repeat.first != NULL || remote->waiting.first != NULL) &&
           remote->flying <= FLYING_LOW && hf_dial_status(remote->dial) > 0;
}

static void end_canceled_requests(struct hf_remote *remote)
{
    int ready = hf_dial_status(remote->dial);

    if (remote->cancels || ready < 0) {
        remote->cancels = false;
        end_early(remote, &remote->repeat, ready);
        end_early(remote, &remote->waiting, ready);
    }
    for (struct hf_task *task; (task = remote->canceled) != NULL;) {
        assert(hf_req_may_end(task->req, true) && task->req->canceled);
        unmark_canceled(task);
        remote->ops->end_watch(task);
    }
}

/* Begin what is in the list now, or as many as allowed.  What done() submits meanwhile
 * waits for the next round. */
static void begin_all(struct hf_remote *remote, struct hf_requests *list, size_t most,
                      int *begun)
{
    const struct hf_req *last = list->last;
    uint64_t             group = 0; /* of the previous one */
    bool                 more = true;

    while (more && list->first != NULL && hf_dial_status(remote->dial) > 0) {
        bool together = group != 0 && list->first->group == group;
        if ((*begun >= BEGUN_MAX || remote->flying >= most) && !together)
            return;
        struct hf_req *req = hf_requests_take(list);
        more = req != last;
        group = req->group;
        begin_request(remote, req);
        ++*begun;
    }
}

bool hf_remote_run(struct hf_remote *remote)
{
    size_t most = remote->flying <= FLYING_LOW ? HF_FLYING_MAX : 0;
    bool   more = true;
    int    begun = 0;

    for (int round = 0; round < ROUNDS && begun < BEGUN_MAX && more; round++) {
        end_canceled_requests(remote);
        begin_all(remote, &remote->repeat, most, &begun);
        begin_all(remote, &remote->waiting, most, &begun);
        more = remote->canceled != NULL || remote->cancels || may_begin_any(remote);
    }
    return more;
}

static void fail_requests(const struct hf_remote *remote, struct hf_requests *list)
{
    for (struct hf_req *req; (req = hf_requests_take(list)) != NULL;)
        call_done(remote, req, HF_EDOWN);
}

void hf_remote_lose(struct hf_remote *remote)
{
    struct hf_requests repeat = remote->repeat, waiting = remote->waiting;

    remote->repeat = remote->waiting = (struct hf_requests){ 0 };
    remote->base.alive_until = 0;
    hf_store_set_link(&remote->base, HF_LINK_LOST);
    remote->ops->lose(remote);
    fail_requests(remote, &repeat);
    fail_requests(remote, &waiting);
}

void hf_remote_hush(struct hf_remote *remote)
{
    remote->closing = true;
    remote->now = hf_now();
    remote->base.on_link = NULL;
}

void hf_remote_finish(struct hf_remote *remote)
{
    assert(remote->closing);
    while (remote->tasks != NULL)
        hf_task_finish(remote->tasks, HF_ECANCELED);
    assert(remote->canceled == NULL && remote->tasks_end == &remote->tasks);
}
