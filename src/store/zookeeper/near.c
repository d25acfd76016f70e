/* near.c - waiting in line: which places ahead to listen to, and what their end means.
 *
 *     who waits   who keeps it out   listens to its own node, and to
 *     a mutex     everybody ahead    the nearest two
 *     a reader    writers ahead      the nearest four
 *     a writer    everybody ahead    the readers just ahead, and the writer in front of them
 *
 * These are armed in one call (together.c), once.  Nobody joins ahead of us, so
 *
 *     one of them went, and                                     then
 *     nobody is left ahead that keeps us out                    we are granted, by that event
 *     all who are left are listened to                          wait on
 *     others are left, as far as we know                        a listing shows who is left
 *     it was a writer, and we are one                           the same
 *
 * In a line of mutexes that listing is made when the second ahead has gone, while the one
 * just ahead still holds the lock, or is being told that it does.  So a turn is create,
 * listing, watches, listing, delete, and a hand-over one way to the server and one way back,
 * however long anybody holds the lock.  A writer may have become a reader, of the same
 * number: Curator makes that node in front of those who wait.  It keeps other writers out.
 *
 * In a line of mutexes places of our own are not listened to: we know when we leave.  The
 * news of a place that we may not read do not come, so those that have not gone soon are
 * read.
 */
#include "store/zookeeper/inner.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define PROVE_DELAY (100 * HF_MS)
#define MUTEXES     2
#define WRITERS     4
#define READERS     64

/* ---- Who is ahead ------------------------------------------------------------------- */

static bool is_writer(const struct hf_shape *shape)
{
    return shape->weight == HF_ALL;
}

static bool keeps_out(const struct hf_zk_place *place, const struct hf_zk_ticket *ticket)
{
    return ticket->shape.capacity == 1 || is_writer(&ticket->shape) ||
           is_writer(&place->child.shape);
}

/* The nearest before `index` that keeps the ticket out; line->count: none. */
static size_t next_ahead(const struct hf_zk_ticket *ticket, size_t index)
{
    const struct hf_zk_line *line = ticket->line;

    do
        index = hf_zk_line_before(line, index);
    while (index < line->count && !keeps_out(&line->place[index], ticket));
    return index;
}

/* The table above: is this place the last to listen to? */
static bool is_enough(const struct hf_zk_ticket *ticket, const struct hf_zk_place *place,
                      size_t count)
{
    if (ticket->shape.capacity == 1)
        return count == MUTEXES;
    if (!is_writer(&ticket->shape))
        return count == WRITERS;
    return count == READERS || is_writer(&place->child.shape);
}

/* The indexes to listen to.  `rest`: there are others, further ahead. */
static size_t pick_ahead(const struct hf_zk_ticket *ticket, size_t me,
                         size_t ret[READERS], bool *rest)
{
    const struct hf_zk_line *line = ticket->line;
    size_t                   count = 0, index = next_ahead(ticket, me);

    while (index < line->count &&
           (count == 0 || !is_enough(ticket, &line->place[ret[count - 1]], count))) {
        ret[count++] = index;
        index = next_ahead(ticket, index);
    }
    *rest = index < line->count;
    return count;
}

/* The last listing shows all that can be ahead of it, and only shrinks since. */
bool hf_zk_near_suits(const struct hf_zk_ticket *ticket)
{
    return (ticket->shape.capacity == 1 && ticket->line->plain) ||
           (ticket->shape.capacity == HF_ALL && ticket->line->shared);
}

/* A writer went, and may have left a reader. */
static bool is_unsure(const struct hf_zk_ticket *ticket)
{
    return ticket->line->writer_gone &&
           (is_writer(&ticket->shape) || ticket->shape.capacity == 1);
}

bool hf_zk_near_granted(const struct hf_zk_ticket *ticket)
{
    const struct hf_zk_line *line = ticket->line;

    if (ticket->where != HF_ZK_THERE || !hf_zk_near_suits(ticket))
        return false;
    size_t me = hf_zk_line_find(line, ticket->seq);
    return me < line->count && line->place[me].ticket == ticket &&
           next_ahead(ticket, me) == line->count && !is_unsure(ticket);
}

/* ---- News ------------------------------------------------------------------------------ */

/* Is that its node?  A writer that became a reader has another, of the same number. */
static bool is_node_of(const char *path, const struct hf_zk_line *line,
                       const struct hf_zk_place *place)
{
    size_t size = strlen(line->folder);

    return strncmp(path, line->folder, size) == 0 && path[size] == '/' &&
           strcmp(path + size + 1, place->name) == 0;
}

/* It has gone; or, for want of memory, is not listened to any more. */
static void ahead_ended(struct hf_zk *zk, struct hf_zk_ticket *ticket, uint64_t seq,
                        enum hf_zk_news news)
{
    struct hf_zk_line *line = ticket->line;
    size_t             index = hf_zk_line_find(line, seq);

    ticket->doubt = true; /* others ahead may have gone unnoticed */
    if (news == HF_ZK_NEWS_GONE && index < line->count &&
        is_node_of(zk->seen.path, line, &line->place[index]))
        hf_zk_line_gone(zk, line, index);
    if (ticket->watch != NULL)
        hf_zk_watch_review(zk, ticket);
}

static void on_ahead_news(struct hf_zk *zk, struct hf_zk_listener *listener,
                          enum hf_zk_news news)
{
    struct hf_zk_ticket *ticket = listener->data;

    assert(ticket->watch != NULL && ticket->watch->listeners > 0);
    assert((news == HF_ZK_NEWS_ARMED) == (listener->watched != NULL));
    if (news == HF_ZK_NEWS_ARMED ||
        (news == HF_ZK_NEWS_HIDDEN && hf_zk_hidden_near(zk, ticket, listener) == 0) ||
        (news == HF_ZK_NEWS_CHANGED &&
         hf_zk_line_find(ticket->line, listener->seq) < ticket->line->count &&
         hf_zk_listen(zk, listener, HF_ZK_WATCHED_DATA, zk->seen.path) == 0))
        return;
    ahead_ended(zk, ticket, listener->seq, news);
}

/* ---- Listening --------------------------------------------------------------------------- */

/* In a line of mutexes we know when our own leave. */
static bool is_known(const struct hf_zk_line *line, const struct hf_zk_place *place)
{
    return line->plain && place->ticket != NULL;
}

/* Nothing about a place ahead matters that happened before we came. */
static int listen_ahead(struct hf_zk *zk, struct hf_zk_ticket *ticket,
                        struct hf_zk_listener *listener, const struct hf_zk_place *place)
{
    struct hf_zk_line *line = ticket->line;
    int                r = HF_ENOMEM;

    assert(!place->gone);
    listener->on_news = on_ahead_news;
    listener->data = ticket;
    listener->seq = place->seq;
    if (is_known(line, place))
        return 0;
    if (line->hidden)
        return hf_zk_listen_place(zk, listener, line, place);
    char *path = hf_zk_path_new(line, place->name);
    if (path != NULL)
        r = hf_zk_listen_as_of(zk, listener, path, (int64_t)ticket->token);
    free(path);
    return r;
}

/* Of a place that is hidden: it listens to the folder. */
static bool listens_to_place(const struct hf_zk_listener *listener,
                             const struct hf_zk_line     *line,
                             const struct hf_zk_place    *place)
{
    const char *path = hf_zk_listener_path(listener);

    if (listener->seq != place->seq)
        return false;
    if (path == NULL)
        return is_known(line, place);
    return is_node_of(path, line, place) || strcmp(path, line->folder) == 0;
}

static bool listens_to(const struct hf_zk_ticket *ticket, const struct hf_zk_place *place)
{
    const struct hf_zk_task *task = ticket->watch;

    for (size_t i = 0; i < task->listeners; i++)
        if (listens_to_place(&task->listener[i], ticket->line, place))
            return true;
    return false;
}

static bool listens_to_all(const struct hf_zk_ticket *ticket, const size_t *index,
                           size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!listens_to(ticket, &ticket->line->place[index[i]]))
            return false;
    return true;
}

/* Is there one left that it listens to? */
static bool listens_on(const struct hf_zk_ticket *ticket)
{
    const struct hf_zk_task *task = ticket->watch;

    for (size_t i = 0; i < task->listeners; i++)
        if (task->listener[i].watched != NULL)
            return true;
    return false;
}

static void unlisten_all(struct hf_zk *zk, struct hf_zk_listener *listener, size_t count)
{
    for (size_t i = 0; i < count; i++)
        hf_zk_unlisten(zk, &listener[i], false);
    free(listener);
}

/* The new ones first: a place that is among both stays watched. */
static int listen_anew(struct hf_zk *zk, struct hf_zk_ticket *ticket, const size_t *index,
                       size_t count)
{
    struct hf_zk_task     *task = ticket->watch;
    struct hf_zk_listener *listener = calloc(count, sizeof *listener);
    int                    r = listener != NULL ? 0 : HF_ENOMEM;

    for (size_t i = 0; i < count && r == 0; i++)
        r = listen_ahead(zk, ticket, &listener[i], &ticket->line->place[index[i]]);
    if (r < 0) {
        unlisten_all(zk, listener, listener != NULL ? count : 0);
        return r;
    }
    unlisten_all(zk, task->listener, task->listeners);
    task->listener = listener;
    task->listeners = count;
    return 0;
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
    size_t             index[READERS];
    bool               rest;
    size_t             count = pick_ahead(ticket, me, index, &rest);

    assert(hf_zk_near_suits(ticket));
    assert(ticket->watch != NULL && line->place[me].ticket == ticket);
    /* A writer behind very many readers: they go one by one, in any order. */
    bool wait_on = rest && is_writer(&ticket->shape) && listens_on(ticket);
    bool listens = wait_on || listens_to_all(ticket, index, count);
    if (is_unsure(ticket) || (ticket->doubt && ((rest && !wait_on) || !listens))) {
        ticket->doubt = true;
        hf_zk_line_refresh(zk, line); /* and choose again then */
        return;
    }
    ticket->doubt = false;
    if (count == 0) {
        hf_task_finish(&ticket->watch->base, 0);
    } else if (!listens && listen_anew(zk, ticket, index, count) < 0) {
        hf_task_fail(&ticket->watch->base, HF_ENOMEM, "out of memory");
    } else {
        if (listens_on(ticket)) /* another may be the nearest now */
            hf_zk_late_put(&zk->prove, &ticket->prove, zk->remote.now + PROVE_DELAY);
        if (!is_known(line, &line->place[index[0]]) || behind_ourselves(line, me))
            hf_zk_self_await(zk, ticket);
    }
}

/* A mutex depends on the news of the nearest.  If those of the other do not come, it lists
 * later. */
static void prove_ahead(struct hf_zk *zk, const struct hf_zk_ticket *ticket)
{
    const struct hf_zk_task *task = ticket->watch;
    bool                     enough = false;

    for (size_t i = 0; i < task->listeners && !enough; i++) {
        hf_zk_read_blind(zk, &task->listener[i]);
        enough = ticket->shape.capacity == 1 && task->listener[i].watched != NULL;
    }
}

void hf_zk_near_run(struct hf_zk *zk)
{
    struct hf_zk_late *late;

    while ((late = hf_zk_late_take(&zk->prove, zk->remote.now)) != NULL)
        prove_ahead(zk, late->ticket);
}
