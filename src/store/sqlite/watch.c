/* watch.c - WATCH: a client waits until something is different from what it knows.
 *
 * A WATCH compares what the caller knows with what is:
 *
 *                      the same: an eye on those in the way
 *     sq->waiting ------------------------------------------> sq->watches
 *       |     ^                                                   |
 *       |     +---------------------------------------------------+
 *       |       a writer changed how the own place stands, and said so; one in the way died;
 *       |       an outsider's, or one that follows how many are ahead: the log was written to
 *       +--> answered: it differs
 *
 * A session that dies tells nobody, so we keep an eye on every session whose end matters
 * (peer.c).
 */
#include "store/sqlite/inner.h"

#include "holdfast.h"

#include <assert.h>
#include <stdlib.h>

/* ---- Ending ------------------------------------------------------------------- */

static struct hf_req *take_off(struct hf_sq_watch *watch)
{
    struct hf_req *req = watch->req;

    assert(req->op == HF_WATCH && req->work == watch && *watch->prev == watch);
    *watch->prev = watch->next;
    if (watch->next != NULL)
        watch->next->prev = watch->prev;
    watch->req = NULL;
    req->work = NULL;
    return req;
}

/* That of an own place stays with the place. */
static void forget(struct hf_sq_watch *watch)
{
    if (watch->own != NULL)
        return;
    free(watch->ties.tie);
    free(watch);
}

bool hf_sq_watch_cancel(struct hf_sq *sq, struct hf_req *req)
{
    if (req->op != HF_WATCH || req->work == NULL)
        return false;
    struct hf_sq_watch *watch = req->work;
    hf_sq_finish(sq, take_off(watch), HF_ECANCELED);
    forget(watch);
    return true;
}

void hf_sq_watches_drop(struct hf_sq *sq)
{
    while (sq->watches != NULL) {
        struct hf_sq_watch *watch = sq->watches;
        hf_sq_finish(sq, take_off(watch), HF_EDOWN);
        forget(watch);
    }
}

void hf_sq_watch_gone(struct hf_sq *sq, struct hf_sq_own *own)
{
    if (own->watch.req == NULL)
        return;
    own->watch.req->standing = hf_sq_no_place;
    hf_sq_finish(sq, take_off(&own->watch), 0);
}

/* ---- News ----------------------------------------------------------------------- */

/* It is carried out again. */
static void wake(struct hf_sq *sq, struct hf_sq_watch *watch)
{
    if (watch->own != NULL)
        watch->own->woken = true;
    hf_requests_append(&sq->waiting, take_off(watch));
    sq->base.wake = 0;
}

/* If its WATCH comes later, that will look first. */
static void wake_own(struct hf_sq *sq, struct hf_sq_own *own)
{
    own->woken = true;
    if (own->watch.req != NULL)
        wake(sq, &own->watch);
}

void hf_sq_hear(struct hf_sq *sq, uint64_t about)
{
    if (about == HF_SQ_ENDED || about == 0) /* that may have been it */
        (void)hf_sq_is_ended(sq);
    struct hf_sq_own *own = hf_sq_owns_by_seq(&sq->owns, about);
    if (own != NULL)
        wake_own(sq, own);
    for (own = sq->owns.first; about == 0 && own != NULL; own = own->next)
        wake_own(sq, own);
}

/* Is it about more than the own place? */
static bool is_of_line(const struct hf_sq_watch *watch)
{
    return watch->own == NULL ||
           (watch->req->follow && watch->own->last.state == HF_STAND_WAITS);
}

/* Not for every change of every line, in a store where much happens. */
#define SELDOM (5 * HF_MS)

bool hf_sq_watches_written(struct hf_sq *sq)
{
    hf_time soon = sq->glanced + SELDOM;
    bool    any = false;

    sq->glance = HF_NEVER;
    for (struct hf_sq_watch *watch = sq->watches, *next; watch != NULL; watch = next) {
        next = watch->next;
        if (!is_of_line(watch))
            continue;
        any = true;
        if (sq->now < soon)
            continue;
        wake(sq, watch);
        forget(watch);
    }
    if (any && sq->now < soon)
        sq->glance = soon;
    else if (any)
        sq->glanced = sq->now;
    return any;
}

/* A process that took a place away may have been killed before it told anybody, or had no
 * descriptor left to do so.  Then the row is gone, and its session, which holds the byte, does
 * not know: we tell it.  A WATCH of the line looks by itself. */
static bool was_taken_away(struct hf_sq *sq, const struct hf_sq_watch *watch,
                           const struct hf_sq_tie *tie)
{
    struct hf_sq_row row;

    assert(tie->sid != sq->sid);
    if (is_of_line(watch) || hf_sq_row_find(sq, watch->own->line, tie->seq, &row) != 0)
        return false;
    sq->news_count = 0;
    if (hf_sq_tell(sq, tie->sid, tie->seq) == 0)
        hf_sq_tell_all(sq);
    return true;
}

/* Is one of its ties over: of those to the session `sid`, or of all if that is 0?  *waits: there
 * is one that is not. */
static bool is_loose(struct hf_sq *sq, const struct hf_sq_watch *watch, uint64_t sid,
                     bool *waits)
{
    for (size_t i = 0; i < watch->ties.count; i++) {
        const struct hf_sq_tie *tie = &watch->ties.tie[i];
        if (sid != 0 && tie->sid != sid)
            continue;
        if (!hf_sq_is_alive(sq, tie->seq) || (sid != 0 && was_taken_away(sq, watch, tie)))
            return true;
        *waits = true;
    }
    return false;
}

bool hf_sq_watches_check(struct hf_sq *sq, uint64_t sid)
{
    bool still = false;

    for (struct hf_sq_watch *watch = sq->watches, *next; watch != NULL; watch = next) {
        next = watch->next;
        if (!is_loose(sq, watch, sid, &still))
            continue;
        wake(sq, watch);
        forget(watch);
    }
    return still;
}

/* ---- Beginning ---------------------------------------------------------------- */

static void put_on(struct hf_sq *sq, struct hf_sq_watch *watch, struct hf_req *req)
{
    assert(watch->req == NULL && req->work == NULL);
    watch->req = req;
    req->work = watch;
    watch->next = sq->watches;
    watch->prev = &sq->watches;
    if (watch->next != NULL)
        watch->next->prev = &watch->next;
    sq->watches = watch;
    hf_sq_patrol_start(sq);
}

/* First an eye on every session, then a look at its ticket: a session that
 * dies after the look is noticed, one that died before is seen. */
static int stay(struct hf_sq *sq, struct hf_sq_watch *watch, struct hf_req *req)
{
    bool waits;
    int  r = 0;

    for (size_t i = 0; i < watch->ties.count && r == 0; i++)
        r = hf_sq_peer_need(sq, watch->ties.tie[i].sid);
    if (r < 0)
        return r;
    put_on(sq, watch, req);
    if (is_loose(sq, watch, 0, &waits))
        wake(sq, watch);
    else if (is_of_line(watch) && sq->glance == HF_NEVER)
        sq->glance = sq->now + (sq->survey.inotify >= 0 ? HF_SEC : 10 * SELDOM);
    return 0;
}

/* A waiter that follows how many are ahead is tied to all of them. */
static int tie_all_ahead(struct hf_sq *sq, struct hf_sq_own *own)
{
    uint64_t stamp;

    int r = hf_sq_rows_all(sq, own->line, &stamp);
    own->watch.ties.count = 0;
    for (size_t i = 0; r == 0 && i < sq->rows.count; i++)
        if (sq->rows.row[i].seq < own->seq)
            r = hf_sq_tie(sq, &own->watch.ties, &sq->rows.row[i]);
    return r;
}

/* The dead do not count.  If they cannot be removed, they do. */
static int look_at_line(struct hf_sq *sq, const char *line)
{
    hf_sq_listen(sq);
    int r = hf_sq_sweep_now(sq, line);
    return r == HF_SQ_STALE || r == HF_SQ_SHUT ? r : 0;
}

static bool is_news(const struct hf_sq_own *own, const struct hf_req *req)
{
    return own->woken || hf_standing_differs(&own->last, req);
}

/* 1: it stands in another way than the caller knows, and `req` has the answer. */
static int compare_own(struct hf_sq *sq, struct hf_req *req, struct hf_sq_own *own)
{
    bool follows = req->follow && own->last.state == HF_STAND_WAITS;
    int  r = follows ? look_at_line(sq, own->line) : 0;

    if (r == 0 && (follows || is_news(own, req))) {
        r = hf_sq_read_own(sq, own);
        if (r == 0)
            req->standing = hf_sq_no_place;
        if (r <= 0)
            return r < 0 ? r : 1;
    }
    if (r < 0)
        return r;
    if (hf_standing_differs(&own->last, req)) {
        req->standing = own->last;
        return 1;
    }
    return follows ? tie_all_ahead(sq, own) : 0;
}

static int watch_own(struct hf_sq *sq, struct hf_req *req, struct hf_sq_own *own)
{
    int r = compare_own(sq, req, own);

    if (r != 0)
        return r;
    if (own->watch.req != NULL) /* an earlier one, which knows the same */
        hf_sq_finish(sq, take_off(&own->watch), 0);
    return stay(sq, &own->watch, req);
}

bool hf_sq_watch_rests(struct hf_sq *sq, struct hf_req *req)
{
    struct hf_sq_own *own = hf_sq_owns_find(&sq->owns, req->id);

    if (own == NULL || own->last.state != HF_STAND_HOLDS || own->watch.req != NULL ||
        is_news(own, req))
        return false;
    put_on(sq, &own->watch, req);
    return true;
}

/* Has what is watched for happened?  sq->rows is the line. */
static bool is_over(const struct hf_sq *sq, struct hf_req *req, uint64_t stamp)
{
    for (size_t i = 0; req->token != 0 && i < sq->rows.count; i++)
        if (sq->rows.row[i].seq == req->token)
            return false;
    if (req->stamp == 0)
        req->stamp = stamp;
    return req->token != 0 || req->stamp != stamp;
}

/* 1: it is over. */
static int watch_outside(struct hf_sq *sq, struct hf_req *req)
{
    uint64_t stamp = 0;

    int r = hf_sq_connect(sq, true);
    if (r < 0)
        return r;
    hf_sq_listen(sq); /* what is written after this is heard */
    r = hf_sq_current(sq) ? hf_sq_rows_all(sq, req->name, &stamp) : HF_SQ_STALE;
    if (r < 0 || is_over(sq, req, stamp))
        return r < 0 ? r : 1;

    struct hf_sq_watch *watch = calloc(1, sizeof *watch);
    if (watch == NULL)
        return hf_sq_fail(sq, HF_ENOMEM, "out of memory");
    for (size_t i = 0; r == 0 && i < sq->rows.count; i++)
        if (req->token == 0 || req->token == sq->rows.row[i].seq)
            r = hf_sq_tie(sq, &watch->ties, &sq->rows.row[i]);
    if (r == 0)
        r = stay(sq, watch, req);
    if (watch->req == NULL) /* it failed, or was woken at once */
        forget(watch);
    return r;
}

bool hf_sq_watch(struct hf_sq *sq, struct hf_req *req, int *status)
{
    struct hf_sq_own *own = hf_sq_owns_find(&sq->owns, req->id);
    int               r = 1;

    if (req->id == 0)
        r = watch_outside(sq, req);
    else if (own != NULL)
        r = watch_own(sq, req, own);
    else
        req->standing = hf_sq_no_place;
    *status = r < 0 ? r : 0;
    return r == 0;
}
