/* vigil.c - WATCH: hearing when it is worth to look at the line again.
 *
 * Three kinds of vigil:
 *
 * - In a line of mutexes, at the own place.  Whoever is third or further back
 *   listens to the second place ahead of it only: when that goes, a listing shows who
 *   is left, while the one just ahead still holds the lock.  Whoever is second listens to
 *   the one ahead and to its own node; so when the holder goes, that event alone
 *   says that it is our turn, and there is nothing left to ask.  Places ahead that
 *   are our own need no watch: we know when we leave.
 * - Holding: at the own node, for its end and for an ASK.  It begins a little later,
 *   so that a short hold costs no request.
 * - Otherwise: at each place named, or at the whole folder; see named.c.
 */
#include "store/zookeeper/inner.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARM_DELAY (2 * HF_MS)

/* ---- The own node ---------------------------------------------------------------------- */

/* Word left at our node: "note\nasked=why"; or what Curator's revoker writes. */
static char *read_asked(struct hf_zk_text text)
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

static bool same(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static void hear_asked(struct hf_zk *zk, struct hf_zk_ticket *ticket)
{
    char *asked = read_asked(zk->seen.text);

    if (asked == NULL || same(asked, ticket->asked)) {
        free(asked);
        return;
    }
    free(ticket->asked);
    ticket->asked = asked;
    ticket->told = false;
}

static void listen_own(struct hf_zk *zk, struct hf_zk_ticket *ticket);

static void on_own(struct hf_zk *zk, struct hf_zk_listener *listener,
                   enum hf_zk_news news)
{
    struct hf_zk_ticket *ticket = listener->data;

    switch (news) {
    case HF_ZK_NEWS_GONE:
        hf_zk_ticket_away(zk, ticket);
        break;
    case HF_ZK_NEWS_CHANGED:
        listen_own(zk, ticket);
        break;
    case HF_ZK_NEWS_ARMED:
        if (ticket->shape.claim && (uint64_t)zk->seen.stat.czxid != ticket->seq) {
            hf_zk_ticket_away(zk, ticket); /* somebody else's by now */
            break;
        }
        hear_asked(zk, ticket);
        hf_zk_date(zk, ticket);
        if (ticket->vigil != NULL)
            hf_zk_vigil_look(zk, ticket);
        break;
    case HF_ZK_NEWS_HIDDEN: /* others may read it, and we not: the heartbeat tells */
        break;
    }
}

static void listen_own(struct hf_zk *zk, struct hf_zk_ticket *ticket)
{
    if (ticket->own.watch != NULL || ticket->where != HF_ZK_THERE)
        return;
    ticket->own.on_news = on_own;
    ticket->own.data = ticket;
    /* Without memory for it we are slower to hear, but the heartbeat tells. */
    (void)hf_zk_listen(zk, &ticket->own, HF_ZK_WATCH_DATA, ticket->path);
    hf_zk_reread(zk, &ticket->own);
}

static void listen_own_later(struct hf_zk *zk, struct hf_zk_ticket *ticket)
{
    if (ticket->own.watch != NULL || ticket->arm_at != 0)
        return;
    ticket->arm_at = zk->remote.now + ARM_DELAY;
    ticket->next_arm = NULL;
    ticket->prev_arm = zk->arm_last;
    *zk->arm_last = ticket;
    zk->arm_last = &ticket->next_arm;
}

void hf_zk_vigils_run(struct hf_zk *zk)
{
    while (zk->arm_first != NULL && zk->arm_first->arm_at <= zk->remote.now) {
        struct hf_zk_ticket *ticket = zk->arm_first;
        hf_zk_ticket_disarm(zk, ticket);
        listen_own(zk, ticket);
    }
}

hf_time hf_zk_vigils_wake(const struct hf_zk *zk)
{
    return zk->arm_first != NULL ? zk->arm_first->arm_at : HF_NEVER;
}

/* ---- In a line of mutexes ------------------------------------------------------------------- */

static void on_near(struct hf_zk *zk, struct hf_zk_listener *listener,
                    enum hf_zk_news news)
{
    struct hf_zk_ticket *ticket = listener->data;
    struct hf_zk_line   *line = ticket->line;

    if (news == HF_ZK_NEWS_ARMED ||
        (news == HF_ZK_NEWS_HIDDEN && hf_zk_hidden_near(zk, ticket) == 0))
        return;
    size_t index = hf_zk_line_find(line, ticket->near_seq);
    if (news == HF_ZK_NEWS_CHANGED && index < line->count &&
        hf_zk_listen(zk, listener, HF_ZK_WATCH_DATA, zk->seen.path) == 0)
        return;
    ticket->doubt = true; /* others ahead may have gone unnoticed */
    if (index < line->count)
        hf_zk_line_gone(zk, line, index);
    if (ticket->vigil != NULL)
        hf_zk_vigil_look(zk, ticket);
}

static void listen_near(struct hf_zk *zk, struct hf_zk_ticket *ticket, size_t index)
{
    struct hf_zk_place *place = &ticket->line->place[index];

    if (place->ticket != NULL) { /* our own: we shall know */
        hf_zk_unlisten(zk, &ticket->near, false);
        return;
    }
    if (ticket->near.watch != NULL && ticket->near_seq == place->seq)
        return;
    hf_zk_unlisten(zk, &ticket->near, false);
    ticket->near.on_news = on_near;
    ticket->near.data = ticket;
    ticket->near_seq = place->seq;
    if (hf_zk_listen_place(zk, &ticket->near, ticket->line, place) < 0)
        hf_task_finish(&ticket->vigil->base, HF_ENOMEM);
}

/* Is all that is ahead ours, and not much?  Then it will be our turn soon, from one
 * moment to the next, and we had better listen to our node by then. */
static bool behind_ourselves(const struct hf_zk_line *line, size_t me)
{
    int count = 0;

    while ((me = hf_zk_line_before(line, me)) < line->count)
        if (line->place[me].ticket == NULL || ++count > HF_ZK_READY_AHEAD)
            return false;
    return true;
}

/* Waiting in a line of mutexes: whom to listen to, as things are now. */
static void look_ahead(struct hf_zk *zk, struct hf_zk_ticket *ticket, size_t me)
{
    struct hf_zk_line *line = ticket->line;
    size_t             near = hf_zk_line_before(line, me);

    if (near == line->count) {
        hf_task_finish(&ticket->vigil->base, 0);
        return;
    }
    size_t far = hf_zk_line_before(line, near);
    if (far == line->count) {
        ticket->doubt = false;
        listen_own(zk, ticket);
        listen_near(zk, ticket, near);
    } else if (ticket->doubt) {
        hf_zk_line_refresh(zk, line); /* and look again then */
    } else {
        if (behind_ourselves(line, me))
            listen_own(zk, ticket);
        listen_near(zk, ticket, far);
    }
}

static bool holds(const struct hf_zk_task *task)
{
    return task->ticket != NULL && task->base.req->count == 1 &&
           task->base.req->seqs[0] == task->ticket->seq;
}

void hf_zk_vigil_look(struct hf_zk *zk, struct hf_zk_ticket *ticket)
{
    struct hf_zk_task *task = ticket->vigil;
    struct hf_zk_line *line = ticket->line;

    if (ticket->where != HF_ZK_THERE || (holds(task) && !ticket->told)) {
        hf_task_finish(&task->base, 0);
        return;
    }
    if (holds(task))
        return;
    size_t me = hf_zk_line_find(line, ticket->seq);
    if (me == line->count || line->place[me].ticket != ticket || !line->plain)
        hf_task_finish(&task->base, 0);
    else
        look_ahead(zk, ticket, me);
}

/* A listing that was lost with its connection is wanted again. */
void hf_zk_vigils_resume(struct hf_zk *zk)
{
    for (size_t i = 0; i < HF_ZK_BUCKETS; i++)
        for (struct hf_zk_ticket *t = zk->ticket[i]; t != NULL; t = t->next)
            if (t->vigil != NULL && (t->doubt || t->line->unlisted))
                hf_zk_line_refresh(zk, t->line);
}

/* ---- Both ends -------------------------------------------------------------------------- */

void hf_zk_watch(struct hf_zk *zk, struct hf_zk_task *task)
{
    struct hf_zk_ticket *ticket = hf_zk_ticket_find(zk, task->base.req->id);
    bool                 mutex = ticket != NULL && ticket->shape.capacity == 1;

    task->ticket = ticket;
    if (ticket != NULL && ticket->where != HF_ZK_THERE) {
        hf_task_finish(&task->base, 0);
    } else if (task->base.req->count == 0) {
        hf_zk_watch_folder(zk, task);
    } else if (ticket != NULL && (holds(task) || (mutex && ticket->line->plain))) {
        assert(ticket->vigil == NULL);
        ticket->vigil = task;
        if (holds(task)) {
            if (ticket->held_at == 0)
                hf_zk_date_begin(zk, ticket);
            listen_own_later(zk, ticket);
        }
        hf_zk_vigil_look(zk, ticket);
    } else {
        hf_zk_watch_named(zk, task);
    }
}

void hf_zk_vigil_end(struct hf_zk *zk, struct hf_zk_task *task)
{
    for (size_t i = 0; i < task->listeners; i++)
        hf_zk_unlisten(zk, &task->listener[i], false);
    free(task->listener);
    task->listener = NULL;
    task->listeners = 0;
    if (task->ticket != NULL && task->ticket->vigil == task) {
        task->ticket->vigil = NULL;
        hf_zk_unlisten(zk, &task->ticket->near, false);
    }
}
