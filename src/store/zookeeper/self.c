/* self.c - listening to our own node: for its end, and for an ASK.
 *
 * A waiter listens at once, for it must know that its node is there when it is granted.  A
 * holder begins a little after it was granted the lock, so that a short hold costs no request.
 * Both read the node after a change.  A holder also reads it if it may have missed a change, or
 * is to write down since when it holds the lock (since.c).
 */
#include "store/zookeeper/inner.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define LISTEN_DELAY (2 * HF_MS)

/* The reason that an ASK left at our node: "note\nasked=why"; or what Curator's revoker
 * writes. */
static char *read_reason(struct hf_zk_text text)
{
    static const char mark[] = "\nasked=", revoke[] = "__REVOKE__";
    size_t            length = sizeof mark - 1;

    if (text.size == sizeof revoke - 1 && memcmp(text.bytes, revoke, text.size) == 0)
        return strdup("");
    const char *at = memmem(text.bytes, text.size, mark, length);
    if (at == NULL)
        return NULL;
    at += length;
    size_t      left = text.size - (size_t)(at - text.bytes);
    const char *end = memchr(at, '\n', left);
    return strndup(at, end != NULL ? (size_t)(end - at) : left);
}

static void hear_reason(struct hf_zk *zk, struct hf_zk_ticket *ticket)
{
    char *reason = read_reason(zk->seen.text);

    if (reason == NULL)
        return;
    free(ticket->asked);
    ticket->asked = reason;
}

/* May we surely read the nodes that we make?  Else there are no news of them. */
static bool self_is_readable(const struct hf_zk *zk)
{
    return strcmp(zk->config.acl, "open") == 0 || strcmp(zk->config.acl, "creator") == 0;
}

static void on_self_news(struct hf_zk *zk, struct hf_zk_listener *listener,
                         enum hf_zk_news news)
{
    struct hf_zk_ticket *ticket = listener->data;

    assert(listener == &ticket->self && ticket->where == HF_ZK_THERE);
    switch (news) {
    case HF_ZK_NEWS_GONE:
        hf_zk_ticket_away(zk, ticket);
        return;
    case HF_ZK_NEWS_CHANGED: /* what happens until it is armed is read then */
        ticket->unread = true;
        (void)hf_zk_listen(zk, listener, ticket->path, zk->link.zxid);
        break;
    case HF_ZK_NEWS_ARMED:
        if (ticket->unread || !self_is_readable(zk))
            hf_zk_read_watched(zk, listener);
        ticket->unread = ticket->unread || zk->seen.gap;
        if (ticket->held_at != 0)
            hf_zk_self_listen_later(zk, ticket);
        break;
    case HF_ZK_NEWS_READ:
        ticket->unread = false;
        hear_reason(zk, ticket);
        hf_zk_since_write(zk, ticket);
        break;
    case HF_ZK_NEWS_HIDDEN: /* others may read it, and we not: the heartbeat tells */
        ticket->hidden = true;
        break;
    }
    hf_zk_wait_review(zk, ticket);
}

void hf_zk_self_listen(struct hf_zk *zk, struct hf_zk_ticket *ticket)
{
    if (ticket->where != HF_ZK_THERE || ticket->self.watched != NULL || ticket->hidden)
        return;
    ticket->self.on_news = on_self_news;
    ticket->self.data = ticket;
    /* Without memory for it we are slower to hear, but the heartbeat tells. */
    (void)hf_zk_listen(zk, &ticket->self, ticket->path, (int64_t)ticket->token);
}

bool hf_zk_self_is_there(const struct hf_zk *zk, const struct hf_zk_ticket *ticket)
{
    return hf_zk_is_armed(&ticket->self) &&
           (self_is_readable(zk) || hf_zk_is_read(&ticket->self));
}

void hf_zk_self_listen_later(struct hf_zk *zk, struct hf_zk_ticket *ticket)
{
    assert(ticket->where == HF_ZK_THERE);
    if (ticket->self.watched == NULL || ticket->unread || hf_zk_since_is_due(ticket))
        hf_zk_timer_start(&zk->to_listen, &ticket->to_listen,
                          zk->remote.now + LISTEN_DELAY);
}

void hf_zk_self_run(struct hf_zk *zk)
{
    struct hf_zk_timer *timer;

    while ((timer = hf_zk_timer_take(&zk->to_listen, zk->remote.now)) != NULL) {
        struct hf_zk_ticket *ticket = timer->ticket;
        ticket->unread = ticket->unread || hf_zk_since_is_due(ticket);
        hf_zk_self_listen(zk, ticket);
        if (ticket->unread)
            hf_zk_read_watched(zk, &ticket->self); /* else as soon as it is armed */
    }
}
