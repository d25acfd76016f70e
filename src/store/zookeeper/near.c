/* near.c - waiting in a line of mutexes: which place ahead to listen to.
 *
 *     holder   second   third   fourth          who listens to whom
 *        ^--------+        |       |            second: to the one ahead, and to its own node
 *        ^-----------------+       |            third and further back: to the second ahead
 *                 ^----------------+
 *
 * Third or further back: when the second place ahead goes, a listing shows who is left,
 * while the one just ahead still holds the lock or waits.  Second: when the holder goes,
 * that event alone says that we are granted, and no request is needed.  Places ahead that
 * are our own are not listened to: we know when we leave.
 */
#include "store/zookeeper/inner.h"

#include <assert.h>

static void on_near_news(struct hf_zk *zk, struct hf_zk_listener *listener,
                         enum hf_zk_news news)
{
    struct hf_zk_ticket *ticket = listener->data;
    struct hf_zk_line   *line = ticket->line;

    assert(listener == &ticket->near && ticket->watch != NULL);
    assert((news == HF_ZK_NEWS_ARMED) == (listener->watched != NULL));
    if (news == HF_ZK_NEWS_ARMED ||
        (news == HF_ZK_NEWS_HIDDEN && hf_zk_hidden_near(zk, ticket) == 0))
        return;
    size_t index = hf_zk_line_find(line, ticket->near_seq);
    if (news == HF_ZK_NEWS_CHANGED && index < line->count &&
        hf_zk_listen(zk, listener, HF_ZK_WATCHED_DATA, zk->seen.path) == 0)
        return;
    ticket->doubt = true; /* others ahead may have gone unnoticed */
    if (index < line->count && news == HF_ZK_NEWS_GONE) /* else there was no memory */
        hf_zk_line_gone(zk, line, index);
    if (ticket->watch != NULL)
        hf_zk_watch_review(zk, ticket);
}

static void listen_near(struct hf_zk *zk, struct hf_zk_ticket *ticket, size_t index)
{
    struct hf_zk_place *place = &ticket->line->place[index];

    assert(index < ticket->line->count && !place->gone);
    if (place->ticket != NULL) { /* our own: we shall know */
        hf_zk_unlisten(zk, &ticket->near, false);
        return;
    }
    if (ticket->near.watched != NULL && ticket->near_seq == place->seq)
        return;
    hf_zk_unlisten(zk, &ticket->near, false);
    ticket->near.on_news = on_near_news;
    ticket->near.data = ticket;
    ticket->near_seq = place->seq;
    if (hf_zk_listen_place(zk, &ticket->near, ticket->line, place) < 0)
        hf_task_fail(&ticket->watch->base, HF_ENOMEM, "out of memory");
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
        hf_zk_self_listen(zk, ticket);
        listen_near(zk, ticket, near);
    } else if (ticket->doubt) {
        hf_zk_line_refresh(zk, line); /* and choose again then */
    } else {
        if (behind_ourselves(line, me))
            hf_zk_self_listen(zk, ticket);
        listen_near(zk, ticket, far);
    }
}
