/* self.c - listening to our own node: for its end, and for an ASK.
 *
 * A holder begins to listen a little after it was granted the lock, so that a short hold
 * costs no request.
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

static bool same_reason(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static void hear_reason(struct hf_zk *zk, struct hf_zk_ticket *ticket)
{
    char *reason = read_reason(zk->seen.text);

    if (reason == NULL || same_reason(reason, ticket->asked)) {
        free(reason);
        return;
    }
    free(ticket->asked);
    ticket->asked = reason;
    ticket->told = false;
}

/* It was read; or it is listened to, as it was at some time. */
static void hear_self(struct hf_zk *zk, struct hf_zk_ticket *ticket)
{
    ticket->unread = !zk->seen.there && zk->seen.as_of > (int64_t)ticket->token;
    if (zk->seen.there) {
        hear_reason(zk, ticket);
        hf_zk_since_write(zk, ticket);
    } else if (ticket->held_at != 0) {
        hf_zk_self_listen_later(zk, ticket);
    }
}

static void on_self_news(struct hf_zk *zk, struct hf_zk_listener *listener,
                         enum hf_zk_news news)
{
    struct hf_zk_ticket *ticket = listener->data;

    assert(listener == &ticket->self && ticket->where == HF_ZK_THERE);
    assert((news == HF_ZK_NEWS_ARMED) == (listener->watched != NULL));
    switch (news) {
    case HF_ZK_NEWS_GONE:
        hf_zk_ticket_away(zk, ticket);
        break;
    case HF_ZK_NEWS_CHANGED:
        hf_zk_self_listen(zk, ticket);
        break;
    case HF_ZK_NEWS_ARMED:
        hear_self(zk, ticket);
        if (ticket->watch != NULL)
            hf_zk_watch_review(zk, ticket);
        break;
    case HF_ZK_NEWS_HIDDEN: /* others may read it, and we not: the heartbeat tells */
        break;
    }
}

void hf_zk_self_listen(struct hf_zk *zk, struct hf_zk_ticket *ticket)
{
    if (ticket->where != HF_ZK_THERE)
        return;
    assert(ticket->path != NULL);
    ticket->self.on_news = on_self_news;
    ticket->self.data = ticket;
    /* Without memory for it we are slower to hear, but the heartbeat tells. */
    if (ticket->self.watched == NULL)
        (void)hf_zk_listen(zk, &ticket->self, HF_ZK_WATCHED_DATA, ticket->path);
    hf_zk_reread(zk, &ticket->self);
}

/* May we read the nodes that we make? */
static bool self_is_readable(const struct hf_zk *zk)
{
    return strcmp(zk->config.acl, "open") == 0 || strcmp(zk->config.acl, "creator") == 0;
}

/* Whoever waits has made its node just now: it need not be read, if it can be. */
void hf_zk_self_await(struct hf_zk *zk, struct hf_zk_ticket *ticket)
{
    if (ticket->self.watched != NULL || ticket->where != HF_ZK_THERE)
        return;
    if (!self_is_readable(zk)) {
        hf_zk_self_listen(zk, ticket);
        return;
    }
    ticket->self.on_news = on_self_news;
    ticket->self.data = ticket;
    (void)hf_zk_listen_as_of(zk, &ticket->self, ticket->path, (int64_t)ticket->token);
    if (hf_zk_has_joined(&ticket->self))
        ticket->unread = true; /* others of ours may have heard of a change */
}

void hf_zk_self_listen_later(struct hf_zk *zk, struct hf_zk_ticket *ticket)
{
    if (ticket->self.watched != NULL && !ticket->unread && !hf_zk_since_is_due(ticket))
        return;
    assert(ticket->where == HF_ZK_THERE);
    hf_zk_late_put(&zk->late, &ticket->late, zk->remote.now + LISTEN_DELAY);
}

void hf_zk_self_run(struct hf_zk *zk)
{
    struct hf_zk_late *late;

    while ((late = hf_zk_late_take(&zk->late, zk->remote.now)) != NULL)
        hf_zk_self_listen(zk, late->ticket);
}
