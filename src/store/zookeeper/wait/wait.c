/* wait.c - waiting in line: the WATCH of a place that has not been granted.
 *
 *                       SLEEP, LISTEN
 *                 +-----------------------+
 *                 v                       |
 *     AWAKE --> ASLEEP --LIST--> LISTING --+         decide.c says what to do next, at each
 *       ^         |                 |  ^             event and at each listing
 *       |         |                 +--+ the connection broke: list again
 *       +---------+-----------------+
 *        PASS, REFUSE, our node is gone, canceled: the WATCH is answered
 *
 *     state     it has
 *     AWAKE     no WATCH, or that of a holder (own_node.c)
 *     ASLEEP    heard places that keep it out
 *     LISTING   a listing in flight, or wanted as soon as there is a connection
 *
 * A waiter that is ASLEEP also has its own node watched, so that the end of the last
 * place ahead is the grant: one way to the server, and one way back.  Without that watch
 * it could not tell whether somebody deleted its node, in which case the next in line is
 * granted by the same event.  If the watch is not set yet, the waiter waits for it; if
 * our node cannot be watched, it lists.  A semaphore is always granted by a listing,
 * which shows the free slots.
 *
 * One acquisition of a contended mutex: create and listing; SET_WATCHES for two places
 * ahead and our own; when the second ahead goes, a listing to see which places are left,
 * while the place just ahead holds the lock; a delete.
 *
 * A waiter listens to the folder instead of places, and lists after each change, if
 *     the WATCH follows how many are ahead;
 *     a place cannot be read, so that the server sends no news of it (a waiter reads the
 *         places that it has depended on for READ_DELAY);
 *     or too many places would have to be listened to.
 */
#include "store/zookeeper/inner.h"

#include <assert.h>

#define READ_DELAY (100 * HF_MS)

/* The drawing above. */
static void set_wait(struct hf_zk_own *own, enum hf_zk_wait_state state)
{
    assert(own->wait != HF_ZK_AWAKE || state == HF_ZK_ASLEEP);
    assert((own->watch == NULL) == (state == HF_ZK_AWAKE));
    own->wait = state;
}

/* ---- Ends --------------------------------------------------------------------------- */

static bool needs_folder(const struct hf_zk_own *own)
{
    return own->wait != HF_ZK_AWAKE && (own->watch->base.req->follow || own->by_folder);
}

static struct hf_zk_waiter waiter_of(const struct hf_zk_own *own)
{
    return (struct hf_zk_waiter){
        .line = own->line,
        .me = hf_zk_own_index(own),
        .mine = &own->shape,
        .hears_all = needs_folder(own) && own->line->folder_listener.watched != NULL,
    };
}

static void unlisten_folder(struct hf_zk *zk, struct hf_zk_line *line)
{
    if (line->folder_listener.watched == NULL)
        return;
    for (const struct hf_zk_own *own = line->own; own != NULL; own = own->line_next)
        if (needs_folder(own))
            return;
    hf_zk_unlisten(zk, &line->folder_listener, false);
}

void hf_zk_wait_end(struct hf_zk *zk, struct hf_zk_own *own)
{
    own->watch = NULL;
    if (own->wait == HF_ZK_AWAKE)
        return;
    set_wait(own, HF_ZK_AWAKE);
    own->by_folder = false;
    hf_zk_timer_stop(&own->to_read);
    unlisten_folder(zk, own->line);
}

static void wait_fail(struct hf_zk_own *own, int status)
{
    hf_task_finish(&own->watch->base, status);
}

static void wait_out_of_memory(const struct hf_zk_own *own)
{
    hf_task_fail(&own->watch->base, HF_ENOMEM, "out of memory");
}

static void answer_wait(struct hf_zk *zk, struct hf_zk_own *own, enum hf_stand state)
{
    struct hf_zk_task *task = own->watch;

    hf_zk_wait_end(zk, own); /* which may have to take a slot first */
    hf_zk_answer(zk, task, state);
}

/* Answer the WATCH if the place stands differently than the caller knows, other than
 * granted. */
static bool is_answered(struct hf_zk *zk, struct hf_zk_own *own)
{
    const struct hf_req *req = own->watch->base.req;
    bool                 holds = req->standing.state == HF_STAND_HOLDS;
    bool                 waits = own->wait != HF_ZK_AWAKE && own->where == HF_ZK_THERE;

    if (waits && !req->follow)
        return false; /* counting many places ahead would be wasted */
    struct hf_standing now = hf_zk_standing(own, holds ? HF_STAND_HOLDS : HF_STAND_WAITS);

    if (!hf_standing_differs(&now, req))
        return false;
    answer_wait(zk, own, now.state);
    return true;
}

/* ---- Steps -------------------------------------------------------------------------- */

static void list_line(struct hf_zk *zk, struct hf_zk_own *own)
{
    if (own->wait != HF_ZK_LISTING)
        set_wait(own, HF_ZK_LISTING);
    hf_zk_line_refresh(zk, own->line);
}

/* No place keeps it out any more.  If we do not know yet that our own node exists, its
 * watch is about to be set, or the node is being read: that news brings us here again. */
static void pass(struct hf_zk *zk, struct hf_zk_own *own, bool listed)
{
    bool there = hf_zk_own_node_is_there(zk, own) && !hf_shape_has_slots(&own->shape);

    if (listed || there)
        answer_wait(zk, own, HF_STAND_HOLDS);
    else if (hf_shape_has_slots(&own->shape) || own->node_listener.watched == NULL)
        list_line(zk, own);
}

static void fall_asleep(struct hf_zk *zk, struct hf_zk_own *own)
{
    struct hf_zk_waiter waiter = waiter_of(own);

    assert(hf_zk_decide(&waiter) == HF_ZK_SLEEP);
    if (own->wait != HF_ZK_ASLEEP)
        set_wait(own, HF_ZK_ASLEEP);
    hf_zk_own_node_listen(zk, own);
    hf_zk_timer_start(&zk->to_read, &own->to_read, zk->remote.now + READ_DELAY);
}

static void listen_to_folder(struct hf_zk *zk, struct hf_zk_own *own)
{
    own->by_folder = true;
    int r = hf_zk_line_listen_to_folder(zk, own->line);
    if (r < 0)
        wait_out_of_memory(own);
    else if (r > 0)
        list_line(zk, own);
    else
        fall_asleep(zk, own);
}

static void listen_ahead(struct hf_zk *zk, struct hf_zk_own *own)
{
    struct hf_zk_waiter waiter = waiter_of(own);
    size_t              index[HF_ZK_CHOOSE_MAX];
    size_t              count = hf_zk_choose_places(&waiter, index);
    int                 r = 0;

    assert(!own->line->stale);
    if (count == 0 || own->line->unreadable) {
        listen_to_folder(zk, own);
        return;
    }
    for (size_t i = 0; i < count && r == 0; i++)
        r = hf_zk_line_listen_to(zk, own->line, index[i]);
    if (r < 0)
        wait_out_of_memory(own);
    else
        fall_asleep(zk, own);
}

static void take_step(struct hf_zk *zk, struct hf_zk_own *own, bool listed)
{
    struct hf_zk_waiter waiter = waiter_of(own);
    enum hf_zk_step     step = hf_zk_decide(&waiter);

    if (step != HF_ZK_PASS && is_answered(zk, own))
        return;
    if (step == HF_ZK_SLEEP && needs_folder(own) && !waiter.hears_all)
        step = waiter.line->stale ? HF_ZK_LIST : HF_ZK_LISTEN;
    switch (step) {
    case HF_ZK_PASS:
        pass(zk, own, listed);
        break;
    case HF_ZK_REFUSE:
        wait_fail(own, hf_zk_refusal(zk, waiter.line,
                                     hf_zk_judge(waiter.line, waiter.me, waiter.mine)));
        break;
    case HF_ZK_SLEEP:
        fall_asleep(zk, own);
        break;
    case HF_ZK_LIST:
        list_line(zk, own);
        break;
    case HF_ZK_LISTEN:
        if (needs_folder(own))
            listen_to_folder(zk, own);
        else
            listen_ahead(zk, own);
        break;
    }
}

/* ---- Reviews ------------------------------------------------------------------------ */

/* `listed`: a listing was just taken in. */
static void review(struct hf_zk *zk, struct hf_zk_own *own, bool listed)
{
    if (own->watch == NULL)
        return;
    assert(own->watch->own == own && own->watch->base.req->op == HF_WATCH);
    if (listed)
        hf_zk_own_confirm(zk, own); /* which may answer the WATCH */
    if (own->watch == NULL)
        return;
    if (own->wait == HF_ZK_AWAKE || own->where != HF_ZK_THERE)
        (void)is_answered(zk, own);
    else if (hf_zk_own_index(own) == own->line->count)
        list_line(zk, own);
    else
        take_step(zk, own, listed);
}

void hf_zk_wait_review(struct hf_zk *zk, struct hf_zk_own *own)
{
    review(zk, own, false);
}

static void review_all(struct hf_zk *zk, struct hf_zk_line *line, bool listed)
{
    for (struct hf_zk_own *own = line->own, *next; own != NULL; own = next) {
        next = own->line_next;
        review(zk, own, listed);
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

void hf_zk_wait_list_failed(struct hf_zk *zk, struct hf_zk_line *line, int error)
{
    for (struct hf_zk_own *own = line->own, *next; own != NULL; own = next) {
        next = own->line_next;
        bool lost = own->wait == HF_ZK_LISTING || hf_zk_own_index(own) == line->count;
        if (own->wait != HF_ZK_AWAKE && lost)
            wait_fail(own, hf_zk_fault(zk, error, "list", line->folder));
    }
}

void hf_zk_wait_resume(struct hf_zk *zk)
{
    for (size_t i = 0; i < HF_ZK_BUCKETS; i++)
        for (struct hf_zk_own *own = zk->own[i]; own != NULL; own = own->next)
            if (own->wait == HF_ZK_LISTING)
                hf_zk_line_refresh(zk, own->line);
}

void hf_zk_wait_forget(struct hf_zk *zk)
{
    for (size_t i = 0; i < HF_ZK_BUCKETS; i++) {
        for (struct hf_zk_own *own = zk->own[i]; own != NULL; own = own->next) {
            hf_zk_line_forget(zk, own->line);
            if (own->wait != HF_ZK_AWAKE)
                wait_fail(own, HF_EDOWN);
        }
    }
}

/* ---- Reading ------------------------------------------------------------------------ */

/* Read each place that we depend on, once.  If one is unreadable, its listener is
 * notified (line.c). */
static void read_ahead(struct hf_zk *zk, struct hf_zk_own *own)
{
    struct hf_zk_waiter waiter = waiter_of(own);
    size_t              index[HF_ZK_CHOOSE_MAX];
    size_t              count = hf_zk_depends_on(&waiter, index);

    assert(own->wait != HF_ZK_AWAKE);
    for (size_t i = 0; i < count; i++) {
        const struct hf_zk_place_listener *listener =
            waiter.line->place[index[i]].listener;
        if (listener == NULL || hf_zk_is_readable(&listener->base))
            continue;
        hf_zk_read_watched(zk, &listener->base);
        if (!hf_zk_is_readable(&listener->base)) /* not answered, watch not set, or no */
            hf_zk_timer_start(&zk->to_read, &own->to_read, zk->remote.now + READ_DELAY);
    }
}

void hf_zk_wait_run(struct hf_zk *zk)
{
    struct hf_zk_timer *timer;

    while ((timer = hf_zk_timer_take(&zk->to_read, zk->remote.now)) != NULL)
        read_ahead(zk, timer->own);
}

/* ---- Begin -------------------------------------------------------------------------- */

void hf_zk_wait_begin(struct hf_zk *zk, struct hf_zk_task *task)
{
    struct hf_zk_own *own = task->own;

    assert(own->where == HF_ZK_THERE && own->watch == NULL);
    own->watch = task;
    if (task->base.req->standing.state == HF_STAND_HOLDS)
        hf_zk_own_node_listen_later(zk, own);
    else
        set_wait(own, HF_ZK_ASLEEP);
    hf_zk_wait_review(zk, own);
}
