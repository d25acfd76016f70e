/* wait.c - waiting in line: the WATCH of a place that has not been granted.
 *
 *                       SLEEP, LISTEN
 *                 +-----------------------+
 *                 v                       |
 *     AWAKE --> ASLEEP --LIST--> LISTING --+         what is to be done next, decide.c says:
 *       ^         |                 |  ^             at each event, and at each listing
 *       |         |                 +--+ the connection broke: list again
 *       +---------+-----------------+
 *        PASS, REFUSE, our node is gone, canceled: the WATCH is answered
 *
 *     state     it has
 *     AWAKE     no WATCH, or that of a holder (self.c)
 *     ASLEEP    places that keep it out, and whose end we hear of
 *     LISTING   a listing on its way, or wanted as soon as there is a connection
 *
 * A waiter that is ASLEEP has its own node watched, too, so that the end of the last place
 * ahead is the grant: one way to the server, and one way back.  Somebody may have deleted our
 * node, and then the next in line goes by that event as well.  If the watch is not armed yet,
 * the waiter waits for that; if our node cannot be watched, a listing shows it.  A semaphore
 * is granted by a listing in any case, which shows the free slots.
 *
 * In a turn of a line of mutexes a client sends create and listing; SET_WATCHES for two places
 * ahead and its own; a listing when the second ahead goes, to see who is left, while the one
 * just ahead holds the lock; and a delete.
 *
 * The folder is listened to instead of places, and listed after each change, if
 *     the WATCH follows how many are ahead,
 *     a place cannot be read, for then the server sends no news of it: a waiter reads what it
 *         has depended on for READ_DELAY,
 *     or too many places would have to be listened to.
 */
#include "store/zookeeper/inner.h"

#include <assert.h>

#define READ_DELAY (100 * HF_MS)

/* The drawing above. */
static void set_wait(struct hf_zk_ticket *ticket, enum hf_zk_wait state)
{
    assert(ticket->wait != HF_ZK_AWAKE || state == HF_ZK_ASLEEP);
    assert((ticket->watch == NULL) == (state == HF_ZK_AWAKE));
    ticket->wait = state;
}

/* ---- Ends -------------------------------------------------------------------------------- */

static bool needs_folder(const struct hf_zk_ticket *ticket)
{
    return ticket->wait != HF_ZK_AWAKE &&
           (ticket->watch->base.req->follow || ticket->by_folder);
}

static struct hf_zk_waiter waiter_of(const struct hf_zk_ticket *ticket)
{
    return (struct hf_zk_waiter){
        .line = ticket->line,
        .me = hf_zk_ticket_index(ticket),
        .mine = &ticket->shape,
        .hears_all = needs_folder(ticket) && ticket->line->listener.watched != NULL,
    };
}

static void unlisten_folder(struct hf_zk *zk, struct hf_zk_line *line)
{
    if (line->listener.watched == NULL)
        return;
    for (const struct hf_zk_ticket *t = line->tickets; t != NULL; t = t->line_next)
        if (needs_folder(t))
            return;
    hf_zk_unlisten(zk, &line->listener, false);
}

void hf_zk_wait_end(struct hf_zk *zk, struct hf_zk_ticket *ticket)
{
    ticket->watch = NULL;
    if (ticket->wait == HF_ZK_AWAKE)
        return;
    set_wait(ticket, HF_ZK_AWAKE);
    ticket->by_folder = false;
    hf_zk_timer_stop(&ticket->to_read);
    unlisten_folder(zk, ticket->line);
}

static void wait_fail(struct hf_zk_ticket *ticket, int status)
{
    hf_task_finish(&ticket->watch->base, status);
}

static void wait_out_of_memory(const struct hf_zk_ticket *ticket)
{
    hf_task_fail(&ticket->watch->base, HF_ENOMEM, "out of memory");
}

static void answer_wait(struct hf_zk *zk, struct hf_zk_ticket *ticket,
                        enum hf_stand state)
{
    struct hf_zk_task *task = ticket->watch;

    hf_zk_wait_end(zk, ticket); /* a slot may have to be taken first */
    hf_zk_answer(zk, task, state);
}

/* Does it stand in another way than the caller knows, not being granted?  Then that is told. */
static bool is_answered(struct hf_zk *zk, struct hf_zk_ticket *ticket)
{
    const struct hf_req *req = ticket->watch->base.req;
    bool                 holds = req->standing.state == HF_STAND_HOLDS;
    bool waits = ticket->wait != HF_ZK_AWAKE && ticket->where == HF_ZK_THERE;

    if (waits && !req->follow)
        return false; /* and many may be ahead, who would be counted in vain */
    struct hf_standing now =
        hf_zk_standing(ticket, holds ? HF_STAND_HOLDS : HF_STAND_WAITS);

    if (!hf_standing_differs(&now, req))
        return false;
    answer_wait(zk, ticket, now.state);
    return true;
}

/* ---- Steps ------------------------------------------------------------------------------- */

static void list_line(struct hf_zk *zk, struct hf_zk_ticket *ticket)
{
    if (ticket->wait != HF_ZK_LISTING)
        set_wait(ticket, HF_ZK_LISTING);
    hf_zk_line_refresh(zk, ticket->line);
}

/* No place that keeps it out is left.  If we do not know yet that our own node is there, its
 * watch is about to be armed, or the node is being read: that news comes here again. */
static void pass(struct hf_zk *zk, struct hf_zk_ticket *ticket, bool listed)
{
    bool there = hf_zk_self_is_there(zk, ticket) && !hf_shape_has_slots(&ticket->shape);

    if (listed || there)
        answer_wait(zk, ticket, HF_STAND_HOLDS);
    else if (hf_shape_has_slots(&ticket->shape) || ticket->self.watched == NULL)
        list_line(zk, ticket);
}

static void fall_asleep(struct hf_zk *zk, struct hf_zk_ticket *ticket)
{
    struct hf_zk_waiter who = waiter_of(ticket);

    assert(hf_zk_decide(&who) == HF_ZK_SLEEP);
    if (ticket->wait != HF_ZK_ASLEEP)
        set_wait(ticket, HF_ZK_ASLEEP);
    hf_zk_self_listen(zk, ticket);
    hf_zk_timer_start(&zk->to_read, &ticket->to_read, zk->remote.now + READ_DELAY);
}

static void listen_to_folder(struct hf_zk *zk, struct hf_zk_ticket *ticket)
{
    ticket->by_folder = true;
    int r = hf_zk_line_hear_all(zk, ticket->line);
    if (r < 0)
        wait_out_of_memory(ticket);
    else if (r > 0)
        list_line(zk, ticket);
    else
        fall_asleep(zk, ticket);
}

static void listen_ahead(struct hf_zk *zk, struct hf_zk_ticket *ticket)
{
    struct hf_zk_waiter who = waiter_of(ticket);
    size_t              index[HF_ZK_CHOOSE_MAX];
    size_t              count = hf_zk_choose(&who, index);
    int                 r = 0;

    assert(!ticket->line->stale);
    if (count == 0 || ticket->line->hidden) {
        listen_to_folder(zk, ticket);
        return;
    }
    for (size_t i = 0; i < count && r == 0; i++)
        r = hf_zk_line_hear(zk, ticket->line, index[i]);
    if (r < 0)
        wait_out_of_memory(ticket);
    else
        fall_asleep(zk, ticket);
}

static void take_step(struct hf_zk *zk, struct hf_zk_ticket *ticket, bool listed)
{
    struct hf_zk_waiter who = waiter_of(ticket);
    enum hf_zk_step     step = hf_zk_decide(&who);

    if (step != HF_ZK_PASS && is_answered(zk, ticket))
        return;
    if (step == HF_ZK_SLEEP && needs_folder(ticket) && !who.hears_all)
        step = who.line->stale ? HF_ZK_LIST : HF_ZK_LISTEN;
    switch (step) {
    case HF_ZK_PASS:
        pass(zk, ticket, listed);
        break;
    case HF_ZK_REFUSE:
        wait_fail(ticket,
                  hf_zk_refusal(zk, who.line, hf_zk_judge(who.line, who.me, who.mine)));
        break;
    case HF_ZK_SLEEP:
        fall_asleep(zk, ticket);
        break;
    case HF_ZK_LIST:
        list_line(zk, ticket);
        break;
    case HF_ZK_LISTEN:
        if (needs_folder(ticket))
            listen_to_folder(zk, ticket);
        else
            listen_ahead(zk, ticket);
        break;
    }
}

/* ---- Reviews ----------------------------------------------------------------------------- */

/* `listed`: with a listing that was just taken in. */
static void review(struct hf_zk *zk, struct hf_zk_ticket *ticket, bool listed)
{
    if (ticket->watch == NULL)
        return;
    assert(ticket->watch->ticket == ticket && ticket->watch->base.req->op == HF_WATCH);
    if (listed)
        hf_zk_ticket_confirm(zk, ticket); /* that may answer it */
    if (ticket->watch == NULL)
        return;
    if (ticket->wait == HF_ZK_AWAKE || ticket->where != HF_ZK_THERE)
        (void)is_answered(zk, ticket);
    else if (hf_zk_ticket_index(ticket) == ticket->line->count)
        list_line(zk, ticket);
    else
        take_step(zk, ticket, listed);
}

void hf_zk_wait_review(struct hf_zk *zk, struct hf_zk_ticket *ticket)
{
    review(zk, ticket, false);
}

static void review_all(struct hf_zk *zk, struct hf_zk_line *line, bool listed)
{
    for (struct hf_zk_ticket *ticket = line->tickets, *next; ticket != NULL;
         ticket = next) {
        next = ticket->line_next;
        review(zk, ticket, listed);
    }
}

void hf_zk_wait_review_all(struct hf_zk *zk, struct hf_zk_line *line)
{
    review_all(zk, line, false);
}

void hf_zk_wait_listed(struct hf_zk *zk, struct hf_zk_line *line)
{
    review_all(zk, line, true);
}

void hf_zk_wait_unlisted(struct hf_zk *zk, struct hf_zk_line *line, int error)
{
    for (struct hf_zk_ticket *ticket = line->tickets, *next; ticket != NULL;
         ticket = next) {
        next = ticket->line_next;
        bool lost =
            ticket->wait == HF_ZK_LISTING || hf_zk_ticket_index(ticket) == line->count;
        if (ticket->wait != HF_ZK_AWAKE && lost)
            wait_fail(ticket, hf_zk_fault(zk, error, "list", line->folder));
    }
}

void hf_zk_wait_resume(struct hf_zk *zk)
{
    for (size_t i = 0; i < HF_ZK_BUCKETS; i++)
        for (struct hf_zk_ticket *t = zk->ticket[i]; t != NULL; t = t->next)
            if (t->wait == HF_ZK_LISTING)
                hf_zk_line_refresh(zk, t->line);
}

void hf_zk_wait_forget(struct hf_zk *zk)
{
    for (size_t i = 0; i < HF_ZK_BUCKETS; i++) {
        for (struct hf_zk_ticket *t = zk->ticket[i]; t != NULL; t = t->next) {
            hf_zk_line_forget(zk, t->line);
            if (t->wait != HF_ZK_AWAKE)
                wait_fail(t, HF_EDOWN);
        }
    }
}

/* ---- Reading ----------------------------------------------------------------------------- */

/* Read each place that we depend on, once.  If one is hidden, its ear hears that (line.c). */
static void read_ahead(struct hf_zk *zk, struct hf_zk_ticket *ticket)
{
    struct hf_zk_waiter who = waiter_of(ticket);
    size_t              index[HF_ZK_CHOOSE_MAX];
    size_t              count = hf_zk_depends(&who, index);

    assert(ticket->wait != HF_ZK_AWAKE);
    for (size_t i = 0; i < count; i++) {
        const struct hf_zk_ear *ear = who.line->place[index[i]].ear;
        if (ear == NULL || hf_zk_is_read(&ear->listener))
            continue;
        hf_zk_read_watched(zk, &ear->listener);
        if (!hf_zk_is_read(&ear->listener)) /* not answered, not armed, or no memory */
            hf_zk_timer_start(&zk->to_read, &ticket->to_read,
                              zk->remote.now + READ_DELAY);
    }
}

void hf_zk_wait_run(struct hf_zk *zk)
{
    struct hf_zk_timer *timer;

    while ((timer = hf_zk_timer_take(&zk->to_read, zk->remote.now)) != NULL)
        read_ahead(zk, timer->ticket);
}

/* ---- Begin ------------------------------------------------------------------------------- */

void hf_zk_wait(struct hf_zk *zk, struct hf_zk_task *task)
{
    struct hf_zk_ticket *ticket = task->ticket;

    assert(ticket->where == HF_ZK_THERE && ticket->watch == NULL);
    ticket->watch = task;
    if (task->base.req->standing.state == HF_STAND_HOLDS)
        hf_zk_self_listen_later(zk, ticket);
    else
        set_wait(ticket, HF_ZK_ASLEEP);
    hf_zk_wait_review(zk, ticket);
}
