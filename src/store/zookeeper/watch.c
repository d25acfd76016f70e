/* watch.c - WATCH: completes when something differs from what the caller knows.
 *
 *     our own place       wait.c; if the caller knows nothing, a listing answers it
 *     a line              listens to the folder
 *     a line, until a     the same, and scans the line: now, and after every change
 *         place has left
 */
#include "store/zookeeper/inner.h"

#include <assert.h>

/* ---- Of a line ---------------------------------------------------------------------- */

static void watch_token(struct hf_zk *zk, struct hf_zk_task *task);

static void on_line_news(struct hf_zk *zk, struct hf_zk_listener *listener,
                         enum hf_zk_news news)
{
    struct hf_zk_task *task = listener->data;

    if (news == HF_ZK_NEWS_SET)
        return;
    if (task->base.req->token != 0)
        watch_token(zk, task);
    else
        hf_task_finish(&task->base, 0);
}

static void watch_folder(struct hf_zk *zk, struct hf_zk_task *task, uint64_t stamp)
{
    task->listener.on_news = on_line_news;
    task->listener.data = task;
    int r = hf_zk_listen_folder(zk, &task->listener, task->line->folder, stamp);
    if (r < 0)
        hf_task_fail(&task->base, r, "out of memory");
    else if (r > 0)
        on_line_news(zk, &task->listener, HF_ZK_NEWS_CHANGED);
}

static void on_scanned_to_watch(struct hf_zk *zk, struct hf_zk_task *task,
                                const struct hf_zk_entries *entries)
{
    uint64_t stamp = entries->stamp;
    bool     there = hf_zk_entries_find(entries, task->base.req) != NULL;

    task->free_more(task->more); /* the line may be scanned again */
    task->more = NULL;
    if (task->base.req->canceled)
        hf_task_finish(&task->base, HF_ECANCELED);
    else if (there)
        watch_folder(zk, task, stamp);
    else
        hf_task_finish(&task->base, 0);
}

static void watch_token(struct hf_zk *zk, struct hf_zk_task *task)
{
    hf_zk_scan(zk, task, on_scanned_to_watch);
}

/* ---- Of our own place --------------------------------------------------------------- */

static void watch_own(struct hf_zk *zk, struct hf_zk_task *task)
{
    if (task->own == NULL || task->own->where != HF_ZK_THERE)
        hf_zk_answer(zk, task, HF_STAND_NONE);
    else if (task->base.req->standing.state == HF_STAND_UNKNOWN)
        hf_zk_list_and_answer(zk, task);
    else
        hf_zk_wait_begin(zk, task);
}

/* ---- Both ends ---------------------------------------------------------------------- */

void hf_zk_watch(struct hf_zk *zk, struct hf_zk_task *task)
{
    const struct hf_req *req = task->base.req;

    task->own = hf_zk_own_find(zk, req->id);
    if (req->id == 0 && req->token != 0)
        watch_token(zk, task);
    else if (req->id == 0)
        watch_folder(zk, task, req->stamp);
    else if (task->own != NULL && task->own->where == HF_ZK_UNSURE)
        hf_zk_recover(zk, task, watch_own);
    else
        watch_own(zk, task);
}

void hf_zk_watch_end(struct hf_zk *zk, struct hf_zk_task *task)
{
    hf_zk_unlisten(zk, &task->listener, false);
    if (task->own != NULL && task->own->watch == task)
        hf_zk_wait_end(zk, task->own);
}

/* A WATCH that is about to be answered does not end early. */
void hf_zk_watch_cancel(struct hf_task *base)
{
    struct hf_zk_task *task = (struct hf_zk_task *)base;
    bool               waits = task->own != NULL && task->own->watch == task;

    assert(base->req->op == HF_WATCH && base->req->canceled);
    if (waits || task->listener.watched != NULL)
        hf_task_finish(base, HF_ECANCELED);
}
