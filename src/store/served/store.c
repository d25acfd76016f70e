/* store.c - requests in, answers out.
 *
 * submit() only queues.  process() begins what waits, as far as that is possible.  done()
 * is called from wherever an answer is complete: it may submit and cancel, which only
 * queue, so nothing is pulled from under our feet.
 */
#include "store/served/served.h"

#include <assert.h>
#include <stdlib.h>

#define AT_ONCE 4096 /* requests begun by one process(): callers may keep asking */

void hf_served_init(struct hf_served *served, const struct hf_served_ops *ops)
{
    served->ops = ops;
    served->base.shared = true;
    served->base.link = HF_LINK_DOWN;
    served->tasks_end = &served->tasks;
}

void hf_served_finish_all(struct hf_served *served)
{
    served->closing = true;
    while (served->tasks != NULL)
        hf_served_finish(served->tasks, HF_ECANCELED);
    hf_served_places_drop(served);
    free(served->ticket);
}

void hf_served_set_link(struct hf_served *served, enum hf_link link)
{
    hf_store_set_link(&served->base, link);
}

void hf_served_submit(struct hf_store *store, struct hf_req *req)
{
    struct hf_served *served = (struct hf_served *)store;

    assert(req->name != NULL || req->op == HF_LIST || req->op == HF_EXAMINE);
    req->canceled = false;
    req->work = NULL;
    hf_requests_append(&served->waiting, req);
    store->wake = 0;
}

/* ---- Ending early ------------------------------------------------------------------------- */

static void mark_canceled(struct hf_served *served, struct hf_served_task *task)
{
    if (task->prev_canceled != NULL)
        return;
    task->next_canceled = served->canceled;
    task->prev_canceled = &served->canceled;
    if (task->next_canceled != NULL)
        task->next_canceled->prev_canceled = &task->next_canceled;
    served->canceled = task;
}

void hf_served_uncancel(struct hf_served_task *task)
{
    if (task->prev_canceled == NULL)
        return;
    *task->prev_canceled = task->next_canceled;
    if (task->next_canceled != NULL)
        task->next_canceled->prev_canceled = task->prev_canceled;
    task->prev_canceled = NULL;
}

void hf_served_cancel(struct hf_store *store, struct hf_req *req)
{
    struct hf_served *served = (struct hf_served *)store;

    req->canceled = true;
    if (req->work == NULL)
        served->cancels = true;
    else if (req->op == HF_WATCH)
        mark_canceled(served, req->work);
    store->wake = 0;
}

static bool may_end(const struct hf_req *req)
{
    return req->op == HF_READ || req->op == HF_WATCH || req->op == HF_LIST ||
           req->op == HF_ENTER || req->op == HF_EXAMINE;
}

static void end_waiting(struct hf_requests *list)
{
    struct hf_requests all = *list;
    struct hf_req     *req;

    *list = (struct hf_requests){ 0 };
    while ((req = hf_requests_take(&all)) != NULL) {
        if (req->canceled && may_end(req)) {
            req->status = HF_ECANCELED;
            req->done(req);
        } else {
            hf_requests_append(list, req);
        }
    }
}

/* A WATCH of which the server is just being told ends with the answer. */
static void end_canceled(struct hf_served *served)
{
    struct hf_served_task *task;

    if (served->cancels) {
        served->cancels = false;
        end_waiting(&served->repeat);
        end_waiting(&served->waiting);
    }
    while ((task = served->canceled) != NULL) {
        hf_served_uncancel(task);
        if (!task->flying)
            hf_served_finish(task, HF_ECANCELED);
    }
}

/* ---- Beginning ------------------------------------------------------------------------------ */

static bool may_begin(const struct hf_served *served)
{
    return (served->waiting.first != NULL || served->repeat.first != NULL) &&
           served->ops->ready(served) > 0;
}

static void begin(struct hf_served *served, struct hf_req *req)
{
    struct hf_served_task *task = hf_served_task_new(served, req);

    if (task != NULL) {
        served->ops->verb[req->op](served, task);
        return;
    }
    req->status = HF_ENOMEM;
    req->done(req);
}

/* The server wants none of us: say so to everybody.  But a place that it may have is to be
 * left, whenever that will be possible; one that it cannot have is left already. */
static void refuse(struct hf_served *served, struct hf_requests *list, int status)
{
    struct hf_requests all = *list;
    struct hf_req     *req;

    *list = (struct hf_requests){ 0 };
    while ((req = hf_requests_take(&all)) != NULL) {
        bool leave = req->op == HF_LEAVE;
        if (leave && hf_served_place_find(served, req->id) != NULL) {
            hf_requests_append(list, req);
            continue;
        }
        req->status = leave ? 0 : status;
        req->done(req);
    }
}

bool hf_served_run(struct hf_served *served)
{
    int left = AT_ONCE;
    int ready = served->ops->ready(served);

    hf_served_watches_run(served);
    end_canceled(served);
    if (ready < 0) {
        refuse(served, &served->repeat, ready);
        refuse(served, &served->waiting, ready);
    }
    while (may_begin(served) && left-- > 0) {
        bool repeat = served->repeat.first != NULL;
        begin(served, hf_requests_take(repeat ? &served->repeat : &served->waiting));
        end_canceled(served);
    }
    return left < 0;
}
