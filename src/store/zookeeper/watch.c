/* watch.c - WATCH: hearing when it is worth to READ the line again.
 *
 *     who watches                      listens to
 *     a holder                         its own node, see self.c
 *     who waits, for a mutex or among  some places ahead, see near.c
 *     readers and writers
 *     others, and who names places     each place that is named
 *     who names none                   the folder
 */
#include "store/zookeeper/inner.h"

#include <assert.h>
#include <stdlib.h>

/* ---- The folder, and places that are named ---------------------------------------------- */

static void on_named_news(struct hf_zk *zk, struct hf_zk_listener *listener,
                          enum hf_zk_news news)
{
    struct hf_zk_task *task = listener->data;

    assert(task->base.req->op == HF_WATCH && task->listeners > 0);
    assert((news == HF_ZK_NEWS_ARMED) == (listener->watched != NULL));
    if (news == HF_ZK_NEWS_ARMED ||
        (news == HF_ZK_NEWS_HIDDEN && hf_zk_hidden_named(zk, task, listener) == 0) ||
        (news == HF_ZK_NEWS_CHANGED &&
         hf_zk_listen(zk, listener, HF_ZK_WATCHED_DATA, zk->seen.path) == 0))
        return;
    hf_task_finish(&task->base, 0);
}

static void on_folder_news(struct hf_zk *zk, struct hf_zk_listener *listener,
                           enum hf_zk_news news)
{
    struct hf_zk_task *task = listener->data;

    (void)zk;
    assert(listener == task->listener && task->listeners == 1);
    if (news != HF_ZK_NEWS_ARMED ||
        (task->base.req->stamp != 0 &&
         task->base.req->stamp != hf_zk_watched_stamp(listener)))
        hf_task_finish(&task->base, 0);
}

static bool make_listeners(struct hf_zk_task *task, size_t count)
{
    assert(task->listener == NULL && count > 0);
    task->listener = calloc(count, sizeof *task->listener);
    task->listeners = task->listener != NULL ? count : 0;
    return task->listener != NULL;
}

static void watch_folder(struct hf_zk *zk, struct hf_zk_task *task)
{
    int r = HF_ENOMEM;

    if (make_listeners(task, 1)) {
        task->listener->on_news = on_folder_news;
        task->listener->data = task;
        r = hf_zk_listen(zk, task->listener, HF_ZK_WATCHED_CHILDREN, task->line->folder);
    }
    if (r < 0)
        hf_task_fail(&task->base, r, "out of memory");
    else if (hf_zk_has_joined(task->listener))
        on_folder_news(zk, task->listener, HF_ZK_NEWS_ARMED);
}

enum { NOT_LISTED, LISTING, LISTED }; /* step */

static void watch_named(struct hf_zk *zk, struct hf_zk_task *task);

static void on_listed_to_watch(struct hf_zk *zk, struct hf_zk_task *task, int error)
{
    assert(task->step == LISTING);
    task->step = LISTED;
    if (task->base.req->canceled)
        hf_task_finish(&task->base, HF_ECANCELED);
    else if (error == HF_ZK_CONNECTION_LOSS)
        hf_task_finish(&task->base, HF_EDOWN);
    else
        watch_named(zk, task);
}

/* Names are known from a listing; whoever stands outside may have none yet. */
static bool need_listing(struct hf_zk *zk, struct hf_zk_task *task)
{
    for (size_t i = 0; i < task->base.req->count && task->step == NOT_LISTED; i++) {
        if (hf_zk_line_find(task->line, task->base.req->seqs[i]) < task->line->count)
            continue;
        task->step = LISTING;
        task->on_list = on_listed_to_watch;
        hf_zk_line_list(zk, task->line, task);
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

    assert((size_t)(listener - task->listener) + count < task->listeners);
    for (size_t i = 0; i < count; i++, listener++) {
        listener->on_news = on_named_news;
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
static void watch_named(struct hf_zk *zk, struct hf_zk_task *task)
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

/* ---- At a place of our own ---------------------------------------------------------------- */

static bool watch_is_holders(const struct hf_zk_task *task)
{
    return task->ticket != NULL && task->base.req->count == 1 &&
           task->base.req->seqs[0] == task->ticket->seq;
}

void hf_zk_watch_review(struct hf_zk *zk, struct hf_zk_ticket *ticket)
{
    struct hf_zk_task *task = ticket->watch;
    struct hf_zk_line *line = ticket->line;

    assert(task != NULL && task->ticket == ticket && task->base.req->op == HF_WATCH);
    if (ticket->where != HF_ZK_THERE || (watch_is_holders(task) && !ticket->told)) {
        hf_task_finish(&task->base, 0);
        return;
    }
    if (watch_is_holders(task))
        return;
    size_t me = hf_zk_line_find(line, ticket->seq);
    if (me == line->count || line->place[me].ticket != ticket ||
        !hf_zk_near_suits(ticket))
        hf_task_finish(&task->base, 0);
    else
        hf_zk_near_choose(zk, ticket, me);
}

/* A listing that was lost with its connection is wanted again. */
void hf_zk_watches_resume(struct hf_zk *zk)
{
    for (size_t i = 0; i < HF_ZK_BUCKETS; i++)
        for (struct hf_zk_ticket *t = zk->ticket[i]; t != NULL; t = t->next)
            if (t->watch != NULL && (t->doubt || t->line->unlisted))
                hf_zk_line_refresh(zk, t->line);
}

/* ---- Both ends -------------------------------------------------------------------------- */

void hf_zk_watch(struct hf_zk *zk, struct hf_zk_task *task)
{
    struct hf_zk_ticket *ticket = hf_zk_ticket_find(zk, task->base.req->id);

    assert(task->step == NOT_LISTED);
    task->ticket = ticket;
    if (ticket != NULL && ticket->where != HF_ZK_THERE) {
        hf_task_finish(&task->base, 0);
    } else if (task->base.req->count == 0) {
        watch_folder(zk, task);
    } else if (ticket != NULL && (watch_is_holders(task) || hf_zk_near_suits(ticket))) {
        assert(ticket->watch == NULL); /* a ticket has one at a time */
        ticket->watch = task;
        if (watch_is_holders(task)) {
            if (ticket->held_at == 0)
                ticket->held_at = zk->remote.now;
            hf_zk_self_listen_later(zk, ticket);
        }
        hf_zk_watch_review(zk, ticket);
    } else {
        watch_named(zk, task);
    }
}

void hf_zk_watch_end(struct hf_zk *zk, struct hf_zk_task *task)
{
    for (size_t i = 0; i < task->listeners; i++)
        hf_zk_unlisten(zk, &task->listener[i], false);
    free(task->listener);
    task->listener = NULL;
    task->listeners = 0;
    if (task->ticket != NULL && task->ticket->watch == task) {
        task->ticket->watch = NULL;
        hf_zk_late_not(&task->ticket->prove);
        assert(task->base.req->op == HF_WATCH);
    }
}

/* One that waits for a listing ends when that has come. */
void hf_zk_watch_cancel(struct hf_task *task)
{
    assert(task->req->op == HF_WATCH && task->req->canceled);
    if (((struct hf_zk_task *)task)->step != LISTING)
        hf_task_finish(task, HF_ECANCELED);
}
