/* own_node.c - listening to our own nodes: for their end, and for an ASK.
 *
 * A waiter listens at once, since it must know that its node exists when it is granted.
 * A holder starts a little after the grant, so that a short hold costs no request.  Both
 * read the node after a change.  A holder also reads it if it may have missed a change,
 * or has to write down since when it holds the lock (since.c).
 */
#include "store/zookeeper/inner.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define LISTEN_DELAY (2 * HF_MS)

/* The reason that an ASK wrote to our node, "note\nasked=why"; or what Curator's revoker
 * writes. */
static char *read_reason(struct hf_zk_text text)
{
    static const char asked[] = "\nasked=", revoke[] = "__REVOKE__";
    size_t            length = sizeof asked - 1;

    if (text.size == sizeof revoke - 1 && memcmp(text.bytes, revoke, text.size) == 0)
        return strdup("");
    const char *at = memmem(text.bytes, text.size, asked, length);
    if (at == NULL)
        return NULL;
    at += length;
    size_t      left = text.size - (size_t)(at - text.bytes);
    const char *end = memchr(at, '\n', left);
    return strndup(at, end != NULL ? (size_t)(end - at) : left);
}

static void hear_reason(struct hf_zk *zk, struct hf_zk_own *own)
{
    char *reason = read_reason(zk->seen.text);

    if (reason == NULL)
        return;
    free(own->asked);
    own->asked = reason;
}

/* Can we be sure to read the nodes that we create?  Otherwise the server sends no news of
 * them. */
static bool can_read_own_nodes(const struct hf_zk *zk)
{
    return strcmp(zk->config.acl, "open") == 0 || strcmp(zk->config.acl, "creator") == 0;
}

static void on_own_node_news(struct hf_zk *zk, struct hf_zk_listener *listener,
                             enum hf_zk_news news)
{
    struct hf_zk_own *own = listener->data;

    assert(listener == &own->node_listener && own->where == HF_ZK_THERE);
    switch (news) {
    case HF_ZK_NEWS_GONE:
        hf_zk_own_taken(zk, own);
        return;
    case HF_ZK_NEWS_CHANGED: /* changes until the watch is set are read then */
        own->unread = true;
        (void)hf_zk_listen(zk, listener, own->path, zk->link.zxid);
        break;
    case HF_ZK_NEWS_SET:
        if (own->unread || !can_read_own_nodes(zk))
            hf_zk_read_watched(zk, listener);
        own->unread = own->unread || zk->seen.gap;
        if (own->held_at != 0)
            hf_zk_own_node_listen_later(zk, own);
        break;
    case HF_ZK_NEWS_READ:
        own->unread = false;
        hear_reason(zk, own);
        hf_zk_since_write(zk, own);
        break;
    case HF_ZK_NEWS_UNREADABLE: /* the heartbeat notices if it goes */
        own->unreadable = true;
        break;
    }
    hf_zk_wait_review(zk, own);
}

void hf_zk_own_node_listen(struct hf_zk *zk, struct hf_zk_own *own)
{
    if (own->where != HF_ZK_THERE || own->node_listener.watched != NULL ||
        own->unreadable)
        return;
    own->node_listener.on_news = on_own_node_news;
    own->node_listener.data = own;
    /* Without memory for it we hear later, from the heartbeat. */
    (void)hf_zk_listen(zk, &own->node_listener, own->path, (int64_t)own->token);
}

bool hf_zk_own_node_is_there(const struct hf_zk *zk, const struct hf_zk_own *own)
{
    return hf_zk_is_watch_set(&own->node_listener) &&
           (can_read_own_nodes(zk) || hf_zk_is_readable(&own->node_listener));
}

void hf_zk_own_node_listen_later(struct hf_zk *zk, struct hf_zk_own *own)
{
    assert(own->where == HF_ZK_THERE);
    if (own->node_listener.watched == NULL || own->unread || hf_zk_since_is_due(own))
        hf_zk_timer_start(&zk->to_listen, &own->to_listen, zk->remote.now + LISTEN_DELAY);
}

void hf_zk_own_node_run(struct hf_zk *zk)
{
    struct hf_zk_timer *timer;

    while ((timer = hf_zk_timer_take(&zk->to_listen, zk->remote.now)) != NULL) {
        struct hf_zk_own *own = timer->own;
        own->unread = own->unread || hf_zk_since_is_due(own);
        hf_zk_own_node_listen(zk, own);
        if (own->unread)
            hf_zk_read_watched(
                zk, &own->node_listener); /* otherwise as soon as the watch is set */
    }
}
