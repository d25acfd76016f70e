/* task.c - requests at work. */
#include "store/served/served.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct hf_served_task *hf_served_task_new(struct hf_served *served, struct hf_req *req)
{
    struct hf_served_task *task = calloc(1, sizeof *task + served->ops->tail);
    if (task == NULL)
        return NULL;
    task->served = served;
    task->req = req;
    task->prev = served->tasks_end;
    *served->tasks_end = task;
    served->tasks_end = &task->next;
    req->work = task;
    req->snapshot = (struct hf_line){ 0 };
    req->me = 0;
    req->ahead = 0;
    if (req->op != HF_WATCH)
        req->stamp = 0;
    return task;
}

/* It is none any more; its request may be asked again. */
static void task_free(struct hf_served_task *task)
{
    struct hf_served *served = task->served;

    assert(!task->flying);
    hf_served_watch_end(task);
    hf_served_uncancel(task);
    served->outsiders -= task->outside;
    *task->prev = task->next;
    if (task->next != NULL)
        task->next->prev = task->prev;
    else
        served->tasks_end = task->prev;
    task->req->work = NULL;
    free(task);
}

void hf_served_finish(struct hf_served_task *task, int status)
{
    struct hf_req *req = task->req;
    bool           closing = task->served->closing;

    task_free(task);
    req->status = status;
    if (!closing)
        req->done(req);
}

void hf_served_fail(struct hf_served_task *task, int status, const char *format, ...)
{
    struct hf_store *store = &task->served->base;
    va_list          args;

    va_start(args, format);
    vsnprintf(store->errmsg, sizeof store->errmsg, format, args);
    va_end(args);
    hf_served_finish(task, status);
}

void hf_served_again(struct hf_served_task *task)
{
    struct hf_served *served = task->served;
    struct hf_req    *req = task->req;

    task_free(task);
    hf_requests_append(&served->repeat, req);
}

void hf_served_remember_news(struct hf_served_task *task)
{
    const struct hf_served_place *place =
        hf_served_place_find(task->served, task->req->id);

    task->news = place != NULL ? place->news : 0;
    task->asks = place != NULL ? place->asks : 0;
}

/* ---- Failing ------------------------------------------------------------------------------- */

static struct hf_served_task *first_at_rest(const struct hf_served *served)
{
    struct hf_served_task *task = served->tasks;

    /* Whoever is freed is not in the list any more, which clang-tidy cannot see.
     * NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
    while (task != NULL && task->flying)
        task = task->next;
    return task;
}

void hf_served_tasks_fail(struct hf_served *served)
{
    struct hf_served_task *task;

    while ((task = first_at_rest(served)) != NULL)
        hf_served_finish(task, HF_EDOWN);
}

static void fail_all(struct hf_requests *list)
{
    for (struct hf_req *req; (req = hf_requests_take(list)) != NULL;) {
        req->status = HF_EDOWN;
        req->done(req);
    }
}

/* What comes from now on is for the next session. */
void hf_served_lose(struct hf_served *served)
{
    struct hf_requests repeat = served->repeat, waiting = served->waiting;

    served->repeat = served->waiting = (struct hf_requests){ 0 };
    served->base.alive_until = 0;
    hf_served_set_link(served, HF_LINK_LOST);
    hf_served_tasks_fail(served);
    hf_served_places_drop(served);
    fail_all(&repeat);
    fail_all(&waiting);
}
