/* hidden.c - waiting for a place that we may not read.
 *
 * A server gives no news of a node to those who may not read it, not even that it is
 * deleted (since CVE-2024-23944).  It gives news of the folder, so we listen to that, and
 * list it after every change.  That is slower, and right.
 */
#include "store/zookeeper/inner.h"

#include <assert.h>

/* Has the folder changed since it was listed, or is the place gone from the list? */
static bool has_changed(const struct hf_zk_line     *line,
                        const struct hf_zk_listener *listener, uint64_t seq)
{
    size_t index = hf_zk_line_find(line, seq);

    return hf_zk_watched_stamp(listener) != line->stamp || index == line->count ||
           line->place[index].gone;
}

/* ---- The one ahead of a ticket ----------------------------------------------------- */

static void on_hidden_near_news(struct hf_zk *zk, struct hf_zk_listener *listener,
                                enum hf_zk_news news)
{
    struct hf_zk_ticket *ticket = listener->data;

    assert(ticket->watch != NULL);
    if (news == HF_ZK_NEWS_ARMED && !has_changed(ticket->line, listener, listener->seq))
        return;
    ticket->doubt = true; /* nobody is listened to: without a listing it must end */
    hf_zk_line_refresh(zk, ticket->line); /* the WATCH is reviewed then */
}

int hf_zk_hidden_near(struct hf_zk *zk, struct hf_zk_ticket *ticket,
                      struct hf_zk_listener *listener)
{
    assert(listener->watched == NULL); /* HIDDEN has used the other one up */
    ticket->line->hidden = true; /* from now on places are read before we rely on them */
    listener->on_news = on_hidden_near_news;
    int r = hf_zk_listen(zk, listener, HF_ZK_WATCHED_CHILDREN, ticket->line->folder);
    if (r == 0 && hf_zk_has_joined(listener))
        on_hidden_near_news(zk, listener, HF_ZK_NEWS_ARMED);
    return r;
}

/* ---- Those that a WATCH names --------------------------------------------------------- */

static void on_hidden_named_news(struct hf_zk *zk, struct hf_zk_listener *listener,
                                 enum hf_zk_news news)
{
    struct hf_zk_task *task = listener->data;

    (void)zk;
    if (news != HF_ZK_NEWS_ARMED || has_changed(task->line, listener, listener->seq))
        hf_task_finish(&task->base, 0);
}

int hf_zk_hidden_named(struct hf_zk *zk, struct hf_zk_task *task,
                       struct hf_zk_listener *listener)
{
    assert(task->base.req->op == HF_WATCH && listener->data == task);
    listener->on_news = on_hidden_named_news;
    int r = hf_zk_listen(zk, listener, HF_ZK_WATCHED_CHILDREN, task->line->folder);
    if (r == 0 && hf_zk_has_joined(listener))
        on_hidden_named_news(zk, listener, HF_ZK_NEWS_ARMED);
    return r;
}
