/* near.c - waiting in a line of mutexes: which places ahead to listen to.
 *
 *     holder   second   third   fourth          who listens to whom
 *        ^--------+        |       |            everybody: to the one ahead (near), to its
 *        ^--------^--------+       |            own node (self), and, third or further
 *                 ^--------^-------+            back, to the second ahead (far)
 *
 * These three are armed in one call (together.c), once.  When far goes, a listing shows who
 * is left, while near still holds the lock, or is just being told that it does.  When near
 * goes, and nobody else was left, that event alone says that we are granted.  So a turn is
 * create, listing, watches, listing, delete, and a hand-over one way to the server and one
 * way back, however long anybody holds the lock.
 *
 * Places ahead that are our own are not listened to: we know when we leave.  If far cannot
 * be read its news do not come, and the listing is late, but made.  Those of near must come,
 * so that it is read if it has not gone soon.
 */
#include "store/zookeeper/inner.h"

#include <assert.h>
#include <stdlib.h>

#define PROVE_DELAY (100 * HF_MS)

/* It has gone; or, for want of memory, is not listened to any more. */
static void ahead_ended(struct hf_zk *zk, struct hf_zk_ticket *ticket, uint64_t seq,
                        enum hf_zk_news news)
{
    struct hf_zk_line *line = ticket->line;
    size_t             index = hf_zk_line_find(line, seq);

    ticket->doubt = true; /* others ahead may have gone unnoticed */
    if (index < line->count && news == HF_ZK_NEWS_GONE)
        hf_zk_line_gone(zk, line, index);
    if (ticket->watch != NULL)
        hf_zk_watch_review(zk, ticket);
}

/* A place that changed is listened to again, if it is still ahead. */
static bool has_changed_only(struct hf_zk *zk, struct hf_zk_listener *listener,
                             enum hf_zk_news news, const struct hf_zk_line *line,
                             uint64_t seq)
{
    return news == HF_ZK_NEWS_CHANGED && hf_zk_line_find(line, seq) < line->count &&
           hf_zk_listen(zk, listener, HF_ZK_WATCHED_DATA, zk->seen.path) == 0;
}

static void on_near_news(struct hf_zk *zk, struct hf_zk_listener *listener,
                         enum hf_zk_news news)
{
    struct hf_zk_ticket *ticket = listener->data;

    assert(listener == &ticket->near && ticket->watch != NULL);
    assert((news == HF_ZK_NEWS_ARMED) == (listener->watched != NULL));
    if (news == HF_ZK_NEWS_ARMED ||
        (news == HF_ZK_NEWS_HIDDEN && hf_zk_hidden_near(zk, ticket) == 0) ||
        has_changed_only(zk, listener, news, ticket->line, ticket->near_seq))
        return;
    ahead_ended(zk, ticket, ticket->near_seq, news);
}

static void on_far_news(struct hf_zk *zk, struct hf_zk_listener *listener,
                        enum hf_zk_news news)
{
    struct hf_zk_ticket *ticket = listener->data;

    assert(listener == &ticket->far && ticket->watch != NULL);
    assert((news == HF_ZK_NEWS_ARMED) == (listener->watched != NULL));
    if (news == HF_ZK_NEWS_ARMED || news == HF_ZK_NEWS_HIDDEN ||
        has_changed_only(zk, listener, news, ticket->line, ticket->far_seq))
        return;
    ahead_ended(zk, ticket, ticket->far_seq, news);
}

/* Nothing about a place ahead can have been missed that happened before we came. */
static int listen_ahead(struct hf_zk *zk, struct hf_zk_ticket *ticket,
                        struct hf_zk_listener *listener, const struct hf_zk_place *place)
{
    char *path = hf_zk_path_new(ticket->line, place->name);
    int   r = HF_ENOMEM;

    listener->data = ticket;
    if (path != NULL)
        r = ticket->line->hidden
                ? hf_zk_listen(zk, listener, HF_ZK_WATCHED_DATA, path)
                : hf_zk_listen_as_of(zk, listener, path, (int64_t)ticket->token);
    free(path);
    return r;
}

static int listen_near(struct hf_zk *zk, struct hf_zk_ticket *ticket, size_t index)
{
    const struct hf_zk_place *place = &ticket->line->place[index];

    assert(index < ticket->line->count && !place->gone);
    if (ticket->near.watched != NULL && ticket->near_seq == place->seq)
        return 0;
    hf_zk_unlisten(zk, &ticket->near, false);
    hf_zk_late_not(&ticket->prove);
    ticket->near_seq = place->seq;
    if (place->ticket != NULL) /* our own: we shall know */
        return 0;
    ticket->near.on_news = on_near_news;
    if (!ticket->line->hidden)
        hf_zk_late_put(&zk->prove, &ticket->prove, zk->remote.now + PROVE_DELAY);
    return listen_ahead(zk, ticket, &ticket->near, place);
}

/* `index` line->count: to none. */
static int listen_far(struct hf_zk *zk, struct hf_zk_ticket *ticket, size_t index)
{
    const struct hf_zk_line *line = ticket->line;
    uint64_t                 seq = index < line->count ? line->place[index].seq : 0;

    if (ticket->far_seq == seq)
        return 0;
    hf_zk_unlisten(zk, &ticket->far, false);
    ticket->far_seq = seq;
    if (seq == 0 || line->place[index].ticket != NULL)
        return 0;
    ticket->far.on_news = on_far_news;
    return listen_ahead(zk, ticket, &ticket->far, &line->place[index]);
}

/* Is all that is ahead ours, and not much?  Then we are granted soon, from one moment to
 * the next, and must listen to our node by then. */
static bool behind_ourselves(const struct hf_zk_line *line, size_t me)
{
    int count = 0;

    while ((me = hf_zk_line_before(line, me)) < line->count)
        if (line->place[me].ticket == NULL || ++count > HF_ZK_READY_AHEAD)
            return false;
    return true;
}

void hf_zk_near_choose(struct hf_zk *zk, struct hf_zk_ticket *ticket, size_t me)
{
    struct hf_zk_line *line = ticket->line;
    size_t             near = hf_zk_line_before(line, me);

    assert(line->plain); /* nobody can join ahead of us */
    assert(ticket->watch != NULL && line->place[me].ticket == ticket);
    if (near == line->count) {
        hf_task_finish(&ticket->watch->base, 0);
        return;
    }
    size_t far = hf_zk_line_before(line, near);
    assert(near < me && (far < near || far == line->count));
    if (far == line->count) {
        ticket->doubt = false;
    } else if (ticket->doubt) {
        hf_zk_line_refresh(zk, line); /* and choose again then */
        return;
    }
    /* Near first: it may be where far has been listening. */
    if (listen_near(zk, ticket, near) < 0 || listen_far(zk, ticket, far) < 0)
        hf_task_fail(&ticket->watch->base, HF_ENOMEM, "out of memory");
    else if (ticket->near.watched != NULL || behind_ourselves(line, me))
        hf_zk_self_await(zk, ticket);
}

void hf_zk_near_end(struct hf_zk *zk, struct hf_zk_ticket *ticket)
{
    hf_zk_late_not(&ticket->prove);
    hf_zk_unlisten(zk, &ticket->near, false);
    hf_zk_unlisten(zk, &ticket->far, false);
    ticket->near_seq = ticket->far_seq = 0;
}

void hf_zk_near_run(struct hf_zk *zk)
{
    struct hf_zk_late *late;

    while ((late = hf_zk_late_take(&zk->prove, zk->remote.now)) != NULL)
        hf_zk_reread(zk, &late->ticket->near);
}
