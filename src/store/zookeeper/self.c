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
        if (ticket->shape.claim && (uint64_t)zk->seen.stat.czxid != ticket->seq) {
            hf_zk_ticket_away(zk, ticket); /* somebody else's by now */
            break;
        }
        hear_reason(zk, ticket);
        hf_zk_since_write(zk, ticket);
        if (ticket->watch != NULL)
            hf_zk_watch_review(zk, ticket);
        break;
    case HF_ZK_NEWS_HIDDEN: /* others may read it, and we not: the heartbeat tells */
        break;
    }
}

void hf_zk_self_listen(struct hf_zk *zk, struct hf_zk_ticket *ticket)
{
    if (ticket->self.watched != NULL || ticket->where != HF_ZK_THERE)
        return;
    assert(ticket->path != NULL);
    ticket->self.on_news = on_self_news;
    ticket->self.data = ticket;
    /* Without memory for it we are slower to hear, but the heartbeat tells. */
    (void)hf_zk_listen(zk, &ticket->self, HF_ZK_WATCHED_DATA, ticket->path);
    hf_zk_reread(zk, &ticket->self);
}

void hf_zk_self_listen_later(struct hf_zk *zk, struct hf_zk_ticket *ticket)
{
    if (ticket->self.watched != NULL || ticket->listen_at != 0)
        return;
    assert(ticket->where == HF_ZK_THERE && *zk->late_last == NULL);
    ticket->listen_at = zk->remote.now + LISTEN_DELAY;
    ticket->next_late = NULL;
    ticket->prev_late = zk->late_last;
    *zk->late_last = ticket;
    zk->late_last = &ticket->next_late;
}

void hf_zk_self_not_later(struct hf_zk *zk, struct hf_zk_ticket *ticket)
{
    if (ticket->listen_at == 0)
        return;
    assert(*ticket->prev_late == ticket);
    *ticket->prev_late = ticket->next_late;
    if (ticket->next_late != NULL)
        ticket->next_late->prev_late = ticket->prev_late;
    else
        zk->late_last = ticket->prev_late;
    ticket->listen_at = 0;
}

void hf_zk_self_run(struct hf_zk *zk)
{
    while (zk->late_first != NULL && zk->late_first->listen_at <= zk->remote.now) {
        struct hf_zk_ticket *ticket = zk->late_first;
        hf_zk_self_not_later(zk, ticket);
        hf_zk_self_listen(zk, ticket);
    }
}

hf_time hf_zk_self_wake(const struct hf_zk *zk)
{
    return zk->late_first != NULL ? zk->late_first->listen_at : HF_NEVER;
}
