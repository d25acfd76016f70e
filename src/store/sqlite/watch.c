/* watch.c - WATCH: a client waits until something is different from what it knows.
 *
 * A WATCH compares what the caller knows with what the store says:
 *
 *                      the same: watch the sessions of its ties
 *     sq->waiting ------------------------------------------> sq->watches
 *       |     ^                                                   |
 *       |     +---------------------------------------------------+
 *       |       retried: we were woken about our place; a tie ended; or, if the WATCH
 *       |       is about the whole line, the log was written to
 *       +--> answered: it differs
 *
 * A session that dies wakes nobody, so we watch every session that a WATCH is tied to
 * (peer.c).
 */
#include "store/sqlite/watch.h"
#include "store/sqlite/files/files.h"
#include "store/sqlite/history/history.h"
#include "store/sqlite/inner.h"
#include "store/sqlite/line/line.h"
#include "store/sqlite/line/own.h"
#include "store/sqlite/link.h"
#include "store/sqlite/wake/wake.h"

#include "holdfast.h"

#include <assert.h>
#include <stdlib.h>

/* ---- Ending ------------------------------------------------------------------ */

static struct hf_req *remove_watch(struct hf_sq_watch *watch)
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

/* The WATCH of our own place is part of that place. */
static void free_watch(struct hf_sq_watch *watch)
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
    hf_sq_finish(sq, remove_watch(watch), HF_ECANCELED);
    free_watch(watch);
    return true;
}

void hf_sq_watches_drop(struct hf_sq *sq)
{
    while (sq->watches != NULL) {
        struct hf_sq_watch *watch = sq->watches;
        hf_sq_finish(sq, remove_watch(watch), HF_EDOWN);
        free_watch(watch);
    }
}

void hf_sq_watch_gone(struct hf_sq *sq, struct hf_sq_own *own)
{
    if (own->watch.req == NULL)
        return;
    own->watch.req->standing = hf_sq_no_place;
    hf_sq_finish(sq, remove_watch(&own->watch), 0);
}

/* ---- Waking ------------------------------------------------------------------ */

/* It is carried out again. */
static void retry_watch(struct hf_sq *sq, struct hf_sq_watch *watch)
{
    hf_requests_append(&sq->waiting, remove_watch(watch));
    sq->base.wake = 0;
}

/* If no WATCH waits, the next one reads the place first. */
static void wake_own(struct hf_sq *sq, struct hf_sq_own *own)
{
    own->woken = true;
    if (own->watch.req != NULL)
        retry_watch(sq, &own->watch);
}

void hf_sq_woken(struct hf_sq *sq, uint64_t seq)
{
    if (seq == HF_SQ_ENDED || seq == 0)
        (void)hf_sq_is_ended(sq);
    struct hf_sq_own *own = hf_sq_owns_by_seq(&sq->owns, seq);
    if (own != NULL)
        wake_own(sq, own);
    for (own = sq->owns.first; seq == 0 && own != NULL; own = own->next)
        wake_own(sq, own);
}

/* Is it about the whole line: of a caller without a place, or counting the places
 * ahead? */
static bool is_of_whole_line(const struct hf_sq_watch *watch)
{
    return watch->own == NULL ||
           (watch->req->follow && watch->own->last.state == HF_STAND_WAITS);
}

/* Between two checks of whole lines: in a busy store most changes are about other
 * lines. */
#define LINE_PAUSE (5 * HF_MS)

bool hf_sq_watches_recheck(struct hf_sq *sq)
{
    hf_time soon = sq->line_checked + LINE_PAUSE;
    bool    any = false;

    sq->line_check = HF_NEVER;
    for (struct hf_sq_watch *watch = sq->watches, *next; watch != NULL; watch = next) {
        next = watch->next;
        if (!is_of_whole_line(watch))
            continue;
        any = true;
        if (sq->now < soon)
            continue;
        if (watch->own != NULL)
            hf_sq_ahead_forget(watch->own);
        retry_watch(sq, watch);
        free_watch(watch);
    }
    if (any && sq->now < soon)
        sq->line_check = soon;
    else if (any)
        sq->line_checked = sq->now;
    return any;
}

/* A process that broke a place may have been killed before it sent its wake-ups, or
 * had no descriptor left for that.  Then the row is gone, and the session that had it
 * still holds the liveness lock: we wake it.  A WATCH of the whole line needs no such
 * check. */
static bool was_taken_away(struct hf_sq *sq, const struct hf_sq_watch *watch,
                           const struct hf_sq_tie *tie)
{
    struct hf_sq_row row;

    assert(tie->sid != sq->sid);
    if (is_of_whole_line(watch) ||
        hf_sq_row_find(sq, watch->own->line, tie->seq, &row) != 0)
        return false;
    sq->wakeup_count = 0;
    if (hf_sq_wake_add(sq, tie->sid, tie->seq) == 0)
        hf_sq_wake_send(sq);
    return true;
}

static void tie_has_ended(struct hf_sq *sq, struct hf_sq_watch *watch)
{
    if (watch->own != NULL)
        watch->own->woken = true;
    retry_watch(sq, watch);
}

/* Has one of its ties ended: of those to the session `sid`, or of all if that is 0?
 * *waits: one has not. */
static bool tie_ended(struct hf_sq *sq, const struct hf_sq_watch *watch, uint64_t sid,
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

static bool is_stale(const struct hf_sq_watch *watch, bool *waits)
{
    return watch->own != NULL && is_of_whole_line(watch) &&
           hf_sq_ahead_is_stale(watch->own, waits);
}

bool hf_sq_watches_check(struct hf_sq *sq, uint64_t sid)
{
    bool still = false;

    hf_sq_ahead_check(sq, sid);
    for (struct hf_sq_watch *watch = sq->watches, *next; watch != NULL; watch = next) {
        next = watch->next;
        if (tie_ended(sq, watch, sid, &still))
            tie_has_ended(sq, watch);
        else if (is_stale(watch, &still))
            retry_watch(sq, watch);
        else
            continue;
        free_watch(watch);
    }
    if (!still)
        hf_sq_ahead_unwatched(sq);
    return still;
}

/* ---- Beginning --------------------------------------------------------------- */

static void add_watch(struct hf_sq *sq, struct hf_sq_watch *watch, struct hf_req *req)
{
    assert(watch->req == NULL && req->work == NULL);
    watch->req = req;
    req->work = watch;
    watch->next = sq->watches;
    watch->prev = &sq->watches;
    if (watch->next != NULL)
        watch->next->prev = &watch->next;
    sq->watches = watch;
    hf_sq_file_watch_start(sq);
}

/* First watch every session, then check its place: if it dies after the check, we
 * notice; if it died before, we see that now. */
static int start_watch(struct hf_sq *sq, struct hf_sq_watch *watch, struct hf_req *req)
{
    bool waits = false;
    int  r = 0;

    for (size_t i = 0; i < watch->ties.count && r == 0; i++)
        r = hf_sq_peer_watch(sq, watch->ties.tie[i].sid);
    if (r < 0)
        return r;
    add_watch(sq, watch, req);
    if (tie_ended(sq, watch, 0, &waits))
        tie_has_ended(sq, watch);
    else if (is_stale(watch, &waits))
        retry_watch(sq, watch);
    else if (is_of_whole_line(watch) && sq->line_check == HF_NEVER)
        sq->line_check =
            sq->now + (sq->store_watch.inotify >= 0 ? HF_SEC : 10 * LINE_PAUSE);
    return 0;
}

static bool may_differ(const struct hf_sq_own *own, const struct hf_req *req)
{
    return own->woken || hf_standing_differs(&own->last, req);
}

/* 1: the place stands otherwise than the caller knows, and `req` has the answer. */
static int compare_own(struct hf_sq *sq, struct hf_req *req, struct hf_sq_own *own)
{
    bool     follows = req->follow && own->last.state == HF_STAND_WAITS;
    uint64_t ahead = 0;
    int      r = follows ? hf_sq_ahead_read(sq, own, &ahead) : 0;

    if (r == 1) {
        own->last.ahead = ahead;
        own->watch.ties.count = 0; /* ahead.c watches all sessions in the line */
    } else if (r == 0 && (follows || may_differ(own, req))) {
        r = hf_sq_own_read(sq, own);
        if (r == 0)
            req->standing = hf_sq_no_place;
        if (r == 0)
            return 1;
    }
    if (r < 0)
        return r;
    bool differs = hf_standing_differs(&own->last, req);
    if (differs)
        req->standing = own->last;
    return differs;
}

static int watch_own(struct hf_sq *sq, struct hf_req *req, struct hf_sq_own *own)
{
    int r = compare_own(sq, req, own);

    if (r != 0)
        return r;
    if (own->watch.req != NULL) /* an earlier WATCH */
        hf_sq_finish(sq, remove_watch(&own->watch), 0);
    return start_watch(sq, &own->watch, req);
}

bool hf_sq_watch_idle(struct hf_sq *sq, struct hf_req *req)
{
    struct hf_sq_own *own = hf_sq_owns_find(&sq->owns, req->id);

    if (own == NULL || own->last.state != HF_STAND_HOLDS || own->watch.req != NULL ||
        may_differ(own, req))
        return false;
    add_watch(sq, &own->watch, req);
    return true;
}

/* Has the line, in sq->rows, changed as the WATCH asks? */
static bool line_differs(const struct hf_sq *sq, struct hf_req *req, uint64_t stamp)
{
    for (size_t i = 0; req->token != 0 && i < sq->rows.count; i++)
        if (sq->rows.row[i].seq == req->token)
            return false;
    if (req->stamp == 0)
        req->stamp = stamp;
    return req->token != 0 || req->stamp != stamp;
}

/* 1: it is answered. */
static int watch_whole_line(struct hf_sq *sq, struct hf_req *req)
{
    uint64_t stamp = 0;

    int r = hf_sq_connect(sq, true);
    if (r < 0)
        return r;
    hf_sq_log_listen(sq); /* before we read: we hear of later changes */
    r = hf_sq_is_current(sq) ? hf_sq_rows_all(sq, req->name, &stamp) : HF_SQ_STALE;
    if (r < 0 || line_differs(sq, req, stamp))
        return r < 0 ? r : 1;

    struct hf_sq_watch *watch = calloc(1, sizeof *watch);
    if (watch == NULL)
        return hf_sq_fail(sq, HF_ENOMEM, "out of memory");
    for (size_t i = 0; r == 0 && i < sq->rows.count; i++)
        if (req->token == 0 || req->token == sq->rows.row[i].seq)
            r = hf_sq_tie(sq, &watch->ties, &sq->rows.row[i]);
    if (r == 0)
        r = start_watch(sq, watch, req);
    if (watch->req == NULL) /* it failed, or is retried at once */
        free_watch(watch);
    return r;
}

bool hf_sq_watch(struct hf_sq *sq, struct hf_req *req, int *status)
{
    struct hf_sq_own *own = hf_sq_owns_find(&sq->owns, req->id);
    int               r = 1;

    if (req->id == 0)
        r = watch_whole_line(sq, req);
    else if (own != NULL)
        r = watch_own(sq, req, own);
    else
        req->standing = hf_sq_no_place;
    *status = r < 0 ? r : 0;
    return r == 0;
}
