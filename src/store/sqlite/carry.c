/* carry.c - carrying requests out: one by one, or many in one transaction.
 *
 * What many threads of a process want at once would cost a transaction each.  So those that
 * wait, in their order, are carried out in one, as far as each takes a place or gives one up:
 *
 *     gate, BEGIN
 *         each:  place, byte locked, answer made    or row removed, the next granted
 *     COMMIT, those who are granted are told, gate given back
 *         each:  byte of a place given up is let go; done()
 *
 * Nobody is answered before the commit.  The first that cannot be done so, as it is refused or
 * its place is gone, ends the batch and comes next, alone.  If anything was written for it, or
 * if the commit fails, nothing of the batch has happened, and each is carried out alone: one
 * that fails harms no other.
 */
#include "store/sqlite/inner.h"

#include "holdfast.h"

#include <assert.h>

/* In one transaction: others wait at the gate meanwhile. */
#define BATCH_MAX 64

/* ---- One by one ------------------------------------------------------------------- */

/* True if it is answered, with *status. */
static bool do_request(struct hf_sq *sq, struct hf_req *req, int *status)
{
    assert(req->op != HF_NOTHING);
    switch (req->op) {
    case HF_ENTER:
        *status = hf_sq_enter(sq, req);
        break;
    case HF_WATCH:
        return !hf_sq_watch(sq, req, status);
    case HF_LEAVE:
        *status = hf_sq_leave(sq, req);
        break;
    case HF_LIST:
        *status = hf_sq_list(sq, req);
        break;
    case HF_BREAK:
        *status = hf_sq_break(sq, req);
        break;
    case HF_AMEND:
        *status = hf_sq_amend(sq, req);
        break;
    case HF_ASK:
        *status = hf_sq_ask(sq, req);
        break;
    case HF_PROVE:
        *status = hf_sq_prove(sq, req);
        break;
    case HF_EXAMINE:
        *status = hf_sq_examine(sq, req);
        break;
    case HF_SURVEY:
        return !hf_sq_survey(sq, req, status);
    case HF_HISTORY:
        *status = hf_sq_history(sq, req);
        break;
    case HF_NOTHING:
        break;
    }
    return true;
}

/* Is the place that it is about one of those that were lost? */
static bool is_about_own(const struct hf_req *req)
{
    return req->op == HF_LEAVE || (req->op == HF_PROVE && req->id != 0);
}

/* False if it must wait at the gate. */
static bool carry_out_one(struct hf_sq *sq)
{
    struct hf_req *req = hf_requests_take(&sq->waiting);
    int            status = 0;

    sq->hurry = true;
    sq->brief = req->op == HF_LEAVE || (req->op == HF_ENTER && !req->only_free);
    bool answered = do_request(sq, req, &status);
    /* To write the log back needs no room, and then it starts anew. */
    if (status == HF_EFULL && sq->db.handle != NULL) {
        hf_sq_write_back(sq, false);
        answered = do_request(sq, req, &status);
    }
    if (status == HF_SQ_STALE) {
        /* If nothing was lost, nobody need know.  If something was, the caller has been told,
         * and requests that it made before that fail. */
        if (!hf_sq_outdated(sq))
            answered = do_request(sq, req, &status);
        else
            status = is_about_own(req) ? HF_ELOST : HF_EDOWN;
        if (status == HF_SQ_STALE)
            status = HF_EDOWN;
    }
    sq->hurry = false;
    assert(!sq->live.taken); /* no verb keeps the gate */
    if (status == HF_SQ_SHUT) {
        hf_requests_put_back(&sq->waiting, req);
        return false;
    }
    if (answered) {
        assert(status <= 0 && status > HF_SQ_STALE);
        req->status = status;
        req->done(req);
    }
    return true;
}

/* ---- In one transaction ------------------------------------------------------------- */

struct change {
    struct hf_req    *req;
    struct hf_sq_own *own;
};

struct batch {
    struct change change[BATCH_MAX];
    size_t        count;
    uint64_t      number; /* drawn, and nobody's yet; 0: none is */
};

/* A repeat, and what was lost, need no transaction. */
static bool can_share(const struct hf_sq *sq, const struct hf_req *req)
{
    if (req->op == HF_LEAVE)
        return hf_sq_owns_find(&sq->owns, req->id) != NULL;
    return req->op == HF_ENTER && hf_sq_owns_find(&sq->owns, req->id) == NULL &&
           !hf_sq_owns_lost(&sq->owns, req->id);
}

/* How many of those waiting can share one. */
static size_t count_sharing(const struct hf_sq *sq, bool *enters)
{
    const struct hf_req *req = sq->waiting.first;
    size_t               count = 0;

    *enters = false;
    for (; req != NULL && count < BATCH_MAX && can_share(sq, req); req = req->next) {
        *enters |= req->op == HF_ENTER;
        count++;
    }
    return count;
}

static int begin_batch(struct hf_sq *sq, struct batch *batch, bool enters)
{
    int r = enters ? hf_sq_session(sq) : 0;

    if (r == 0)
        r = enters ? hf_sq_begin_drawn(sq, &batch->number) : hf_sq_begin(sq);
    return r;
}

/* 1: it is done. */
static int change_line(struct hf_sq *sq, struct batch *batch, struct change *change)
{
    struct hf_req *req = change->req;

    if (req->op == HF_LEAVE) {
        change->own = hf_sq_owns_find(&sq->owns, req->id);
        return hf_sq_leave_inside(sq, change->own);
    }
    int r = batch->number != 0 ? 1 : hf_sq_draw(sq, &batch->number);
    if (r != 1)
        return r;
    r = hf_sq_enter_inside(sq, req, batch->number, &change->own);
    if (r < 0)
        return r;
    batch->number = 0;
    return 1;
}

/* One more of the batch.  1, or 0 if it ends before this one; or an error, and part of this one
 * may be written. */
static int add_change(struct hf_sq *sq, struct batch *batch, struct hf_req *req)
{
    struct change *change = &batch->change[batch->count];
    size_t         news = sq->news_count;
    int            written = sqlite3_total_changes(sq->db.handle);

    *change = (struct change){ .req = req };
    int r = change_line(sq, batch, change);
    if (r == 1) {
        batch->count++;
        return 1;
    }
    sq->news_count = news;
    bool clean = sqlite3_total_changes(sq->db.handle) == written &&
                 sqlite3_get_autocommit(sq->db.handle) == 0;
    return clean ? 0 : HF_ESTORE;
}

static int fill_batch(struct hf_sq *sq, struct batch *batch)
{
    struct hf_req *req;
    int            r = 1;

    while (r == 1 && batch->count < BATCH_MAX && (req = sq->waiting.first) != NULL &&
           can_share(sq, req)) {
        r = add_change(sq, batch, req);
        if (r == 1)
            hf_requests_take(&sq->waiting);
    }
    return r < 0 ? r : 0;
}

static void undo_batch(struct hf_sq *sq, const struct batch *batch)
{
    for (size_t i = batch->count; i-- > 0;) {
        const struct change *change = &batch->change[i];
        if (change->req->op == HF_ENTER)
            hf_sq_enter_undo(sq, change->own);
        hf_requests_put_back(&sq->waiting, change->req);
    }
}

static void answer_batch(struct hf_sq *sq, const struct batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        const struct change *change = &batch->change[i];
        change->req->status = 0;
        if (change->req->op == HF_LEAVE)
            hf_sq_own_over(sq, change->own, false);
    }
    for (size_t i = 0; i < batch->count; i++)
        batch->change[i].req->done(batch->change[i].req);
}

/* False if it must wait at the gate. */
static bool carry_out_many(struct hf_sq *sq, size_t count, bool enters)
{
    struct batch batch = { .count = 0 };

    sq->hurry = sq->brief = true;
    int r = begin_batch(sq, &batch, enters);
    sq->hurry = false;
    if (r == HF_SQ_SHUT)
        return false;
    sq->alone = count; /* each knows what a failure means for it */
    if (r < 0)
        return true;
    r = fill_batch(sq, &batch);
    if (r < 0 || batch.count == 0) {
        hf_sq_abort(sq);
    } else {
        r = hf_sq_commit(sq);
        sq->alone =
            r == 0 ? batch.count < count : batch.count; /* the one that ended it */
    }
    if (r < 0)
        undo_batch(sq, &batch);
    else
        answer_batch(sq, &batch);
    assert(!sq->live.taken);
    return true;
}

bool hf_sq_carry_out(struct hf_sq *sq)
{
    bool   enters;
    size_t count = sq->alone == 0 ? count_sharing(sq, &enters) : 0;

    if (count > 1)
        return carry_out_many(sq, count, enters);
    if (!carry_out_one(sq))
        return false;
    sq->alone -= sq->alone > 0;
    return true;
}
