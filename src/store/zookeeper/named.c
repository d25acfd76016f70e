/* named.c - WATCH at places that are named, or at the whole folder: the vigils that are
 * not in a line of mutexes (vigil.c). */
#include "store/zookeeper/inner.h"

#include <stdlib.h>

int hf_zk_listen_place(struct hf_zk *zk, struct hf_zk_listener *listener,
                       const struct hf_zk_line *line, const struct hf_zk_place *place)
{
    char *path = hf_zk_path_new(line, place->name);
    int   r = HF_ENOMEM;

    if (path != NULL)
        r = hf_zk_listen(zk, listener, HF_ZK_WATCH_DATA, path);
    free(path);
    return r;
}

static void on_named(struct hf_zk *zk, struct hf_zk_listener *listener,
                     enum hf_zk_news news)
{
    struct hf_zk_task *task = listener->data;

    if (news == HF_ZK_NEWS_ARMED ||
        (news == HF_ZK_NEWS_HIDDEN && hf_zk_hidden_named(zk, task, listener) == 0) ||
        (news == HF_ZK_NEWS_CHANGED &&
         hf_zk_listen(zk, listener, HF_ZK_WATCH_DATA, zk->seen.path) == 0))
        return;
    hf_task_finish(&task->base, 0);
}

static void on_folder(struct hf_zk *zk, struct hf_zk_listener *listener,
                      enum hf_zk_news news)
{
    struct hf_zk_task *task = listener->data;

    (void)zk;
    if (news != HF_ZK_NEWS_ARMED ||
        (task->base.req->stamp != 0 &&
         task->base.req->stamp != hf_zk_watch_stamp(listener)))
        hf_task_finish(&task->base, 0);
}

static bool make_listeners(struct hf_zk_task *task, size_t count)
{
    task->listener = calloc(count, sizeof *task->listener);
    task->listeners = task->listener != NULL ? count : 0;
    return task->listener != NULL;
}

void hf_zk_watch_folder(struct hf_zk *zk, struct hf_zk_task *task)
{
    int r = HF_ENOMEM;

    if (make_listeners(task, 1)) {
        task->listener->on_news = on_folder;
        task->listener->data = task;
        r = hf_zk_listen(zk, task->listener, HF_ZK_WATCH_CHILDREN, task->line->folder);
    }
    if (r < 0)
        hf_task_fail(&task->base, r, "out of memory");
    else if (hf_zk_has_joined(task->listener))
        on_folder(zk, task->listener, HF_ZK_NEWS_ARMED);
}

enum { NOT_LISTED, LISTING, LISTED }; /* step */

static void on_listed(struct hf_zk *zk, struct hf_zk_task *task, int error)
{
    task->step = LISTED;
    if (task->base.req->canceled)
        hf_task_finish(&task->base, HF_ECANCELED);
    else if (error == HF_ZK_CONNECTION_LOSS)
        hf_task_finish(&task->base, HF_EDOWN);
    else
        hf_zk_watch_named(zk, task);
}

/* Names are known from a listing; whoever stands outside may have none yet. */
static bool need_listing(struct hf_zk *zk, struct hf_zk_task *task)
{
    for (size_t i = 0; i < task->base.req->count && task->step == NOT_LISTED; i++) {
        if (hf_zk_line_find(task->line, task->base.req->seqs[i]) < task->line->count)
            continue;
        task->step = LISTING;
        task->on_list = on_listed;
        hf_zk_claim_look(zk, task);
        hf_zk_line_ask(zk, task->line, task);
        return true;
    }
    return false;
}

/* How many places have this seq: a writer of Curator's that becomes a reader has two for
 * a while, with one number. */
static size_t count_places(const struct hf_zk_line *line, uint64_t seq)
{
    size_t first = hf_zk_line_find(line, seq), end = first;

    while (end < line->count && line->place[end].seq == seq)
        end++;
    return end - first;
}

/* 0, 1: one of them has gone, or HF_ENOMEM. */
static int listen_named(struct hf_zk *zk, struct hf_zk_task *task, uint64_t seq,
                        struct hf_zk_listener *listener)
{
    const struct hf_zk_line *line = task->line;
    size_t                   first = hf_zk_line_find(line, seq);
    size_t                   count = count_places(line, seq);

    for (size_t i = 0; i < count; i++, listener++) {
        listener->on_news = on_named;
        listener->data = task;
        listener->seq = seq;
        if (line->place[first + i].gone)
            return 1;
        int r = hf_zk_listen_place(zk, listener, line, &line->place[first + i]);
        if (r < 0)
            return r;
    }
    return count == 0;
}

/* All must be there, as far as we know, or there is nothing to wait for. */
void hf_zk_watch_named(struct hf_zk *zk, struct hf_zk_task *task)
{
    size_t count = 0;
    int    r = 0;

    if (need_listing(zk, task))
        return;
    for (size_t i = 0; i < task->base.req->count; i++)
        count += count_places(task->line, task->base.req->seqs[i]);
    if (!make_listeners(task, count + 1)) {
        hf_task_fail(&task->base, HF_ENOMEM, "out of memory");
        return;
    }
    for (size_t i = 0, at = 0; i < task->base.req->count && r == 0; i++) {
        r = listen_named(zk, task, task->base.req->seqs[i], &task->listener[at]);
        at += count_places(task->line, task->base.req->seqs[i]);
    }
    if (r < 0)
        hf_task_fail(&task->base, HF_ENOMEM, "out of memory");
    else if (r > 0)
        hf_task_finish(&task->base, 0);
}

/* One that has asked for a listing ends when that has come. */
void hf_zk_vigil_cancel(struct hf_task *task)
{
    if (((struct hf_zk_task *)task)->step != LISTING)
        hf_task_finish(task, HF_ECANCELED);
}
