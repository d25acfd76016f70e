/* batch.c - carrying out requests: one by one, or many in one transaction.
 *
 * Requests of many threads would cost a transaction each.  So waiting ENTERs and LEAVEs
 * share one, in their order:
 *
 *     write lock, BEGIN
 *         ENTER: add a row, take its liveness lock
 *         LEAVE: remove the row, grant the next places
 *     COMMIT, wake the sessions that were granted, release the write lock
 *         LEAVE: release the liveness lock
 *         each: done()
 *
 * No request is answered before the commit.  The first one that is refused, or whose
 * place is gone, ends the batch and is carried out next, by itself.  If it had written
 * anything, or if the commit fails, the whole batch is rolled back, and each request is
 * carried out by itself: one that fails harms no other.
 */
#include "store/sqlite/db/db.h"
#include "store/sqlite/history/history.h"
#include "store/sqlite/inner.h"
#include "store/sqlite/line/own.h"
#include "store/sqlite/link.h"
#include "store/sqlite/watch.h"

#include "holdfast.h"

#include <assert.h>

/* Requests in one transaction: other processes wait for the write lock meanwhile. */
#define BATCH_MAX 64

/* ---- One by one -------------------------------------------------------------- */

/* Carry it out.  True: it is answered with *status; false: it waits. */
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
    case HF_DOWNGRADE:
        *status = hf_sq_downgrade(sq, req);
        break;
    case HF_ASK:
        *status = hf_sq_ask(sq, req);
        break;
    case HF_VERIFY:
        *status = hf_sq_verify(sq, req);
        break;
    case HF_DIAGNOSE:
        *status = hf_sq_diagnose(sq, req);
        break;
    case HF_WATCH_STORE:
        return !hf_sq_watch_store(sq, req, status);
    case HF_HISTORY:
        *status = hf_sq_history(sq, req);
        break;
    case HF_NOTHING:
        break;
    }
    return true;
}

/* Is it about a place of ours, which is lost with the session? */
static bool is_about_own(const struct hf_req *req)
{
    return req->op == HF_LEAVE || (req->op == HF_VERIFY && req->id != 0);
}

/* False: it must wait for the write lock. */
static bool run_one(struct hf_sq *sq)
{
    struct hf_req *req = hf_requests_take(&sq->waiting);
    int            status = 0;

    sq->can_retry = true;
    sq->fail_soon = req->op == HF_LEAVE || (req->op == HF_ENTER && !req->only_free);
    bool answered = do_request(sq, req, &status);
    /* A checkpoint needs no room, and then the log is reused from its start. */
    if (status == HF_EFULL && sq->db.handle != NULL) {
        hf_sq_checkpoint(sq, false);
        answered = do_request(sq, req, &status);
    }
    if (status == HF_SQ_STALE) {
        /* If nothing was lost, retry.  Otherwise the link was reported LOST, and
         * requests that were submitted before that fail. */
        if (!hf_sq_lose_session(sq))
            answered = do_request(sq, req, &status);
        else
            status = is_about_own(req) ? HF_ELOST : HF_EDOWN;
        if (status == HF_SQ_STALE)
            status = HF_EDOWN;
    }
    sq->can_retry = false;
    assert(!sq->live.locked); /* every verb releases the write lock */
    if (status == HF_SQ_LOCKED) {
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

/* ---- In one transaction ------------------------------------------------------ */

struct change {
    struct hf_req    *req;
    struct hf_sq_own *own;
};

struct batch {
    struct change change[BATCH_MAX];
    size_t        count;
    uint64_t      number; /* drawn and not used yet; 0: none */
};

/* Repeats, and requests about lost places, need no transaction. */
static bool can_share(const struct hf_sq *sq, const struct hf_req *req)
{
    if (req->op == HF_LEAVE)
        return hf_sq_owns_find(&sq->owns, req->id) != NULL;
    return req->op == HF_ENTER && hf_sq_owns_find(&sq->owns, req->id) == NULL &&
           !hf_sq_owns_lost(&sq->owns, req->id);
}

/* How many waiting requests can share a transaction. */
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
        r = enters ? hf_sq_begin_with_number(sq, &batch->number) : hf_sq_begin(sq);
    return r;
}

/* Carry out one request of the batch: 1 if it is done. */
static int change_line(struct hf_sq *sq, struct batch *batch, struct change *change)
{
    struct hf_req *req = change->req;

    if (req->op == HF_LEAVE) {
        change->own = hf_sq_owns_find(&sq->owns, req->id);
        return hf_sq_leave_inside(sq, change->own);
    }
    int r = batch->number != 0 ? 1 : hf_sq_number_draw(sq, &batch->number);
    if (r != 1)
        return r;
    r = hf_sq_enter_inside(sq, req, batch->number, &change->own);
    if (r < 0)
        return r;
    batch->number = 0;
    return 1;
}

/* Add a request to the batch.  1; 0 if the batch ends before this one; or an error,
 * and part of this one may have been written. */
static int add_change(struct hf_sq *sq, struct batch *batch, struct hf_req *req)
{
    struct change *change = &batch->change[batch->count];
    size_t         wakeups = sq->wakeup_count;
    int            written = sqlite3_total_changes(sq->db.handle);

    *change = (struct change){ .req = req };
    int r = change_line(sq, batch, change);
    if (r == 1) {
        batch->count++;
        return 1;
    }
    sq->wakeup_count = wakeups;
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
            hf_sq_own_end(sq, change->own, false);
    }
    for (size_t i = 0; i < batch->count; i++)
        batch->change[i].req->done(batch->change[i].req);
}

/* False: they must wait for the write lock. */
static bool run_batch(struct hf_sq *sq, size_t count, bool enters)
{
    struct batch batch = { .count = 0 };

    sq->can_retry = sq->fail_soon = true;
    int r = begin_batch(sq, &batch, enters);
    sq->can_retry = false;
    if (r == HF_SQ_LOCKED)
        return false;
    sq->unbatched = count; /* after a failure each is carried out by itself */
    if (r < 0)
        return true;
    r = fill_batch(sq, &batch);
    if (r < 0 || batch.count == 0) {
        hf_sq_abort(sq);
    } else {
        r = hf_sq_commit(sq);
        /* Only the one that ended the batch, or all of it. */
        sq->unbatched = r == 0 ? batch.count < count : batch.count;
    }
    if (r < 0)
        undo_batch(sq, &batch);
    else
        answer_batch(sq, &batch);
    assert(!sq->live.locked);
    return true;
}

bool hf_sq_run_next(struct hf_sq *sq)
{
    bool   enters;
    size_t count = sq->unbatched == 0 ? count_sharing(sq, &enters) : 0;

    if (count > 1)
        return run_batch(sq, count, enters);
    if (!run_one(sq))
        return false;
    sq->unbatched -= sq->unbatched > 0;
    return true;
}
