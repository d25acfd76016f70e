/* leave.c - LEAVE: giving up a place, and forgetting one that was taken from us. */
#include "store/sqlite/db/db.h"
#include "store/sqlite/files/live.h"
#include "store/sqlite/history/history.h"
#include "store/sqlite/inner.h"
#include "store/sqlite/line/line.h"
#include "store/sqlite/line/own.h"
#include "store/sqlite/wake/wake.h"
#include "store/sqlite/watch.h"

#include "holdfast.h"

#include <assert.h>

void hf_sq_own_end(struct hf_sq *sq, struct hf_sq_own *own, bool lost)
{
    assert(own->seq != 0 && sq->sid != 0);
    hf_sq_live_unlock(&sq->live, own->seq);
    hf_sq_watch_gone(sq, own);
    hf_sq_owns_drop(&sq->owns, own, lost);
}

int hf_sq_leave_inside(struct hf_sq *sq, const struct hf_sq_own *own)
{
    int r = hf_sq_history_add(sq, own->line, own->seq, HF_HISTORY_RELEASED, "");
    if (r == 0)
        r = hf_sq_place_remove(sq, own->line, own->seq);
    if (r != 1)
        return r;
    r = hf_sq_fill_room(sq, own->line, own->seq);
    return r < 0 ? r : 1;
}

/* Remove the row, and grant the next places.  1 if it was there. */
static int remove_own(struct hf_sq *sq, const struct hf_sq_own *own)
{
    int r = hf_sq_begin(sq);
    if (r < 0)
        return r;
    r = hf_sq_leave_inside(sq, own);
    if (r != 1) {
        hf_sq_abort(sq);
        return r;
    }
    r = hf_sq_commit(sq);
    return r < 0 ? r : 1;
}

/* The row cannot be removed: the disk is full, or a stopped process has the write lock.
 * Release the liveness lock, which is what counts, and wake the places behind us. */
static int leave_anyway(struct hf_sq *sq, const struct hf_sq_own *own)
{
    struct hf_sq_row mine;

    int r = hf_sq_row_find(sq, own->line, own->seq, &mine);
    hf_sq_live_unlock(&sq->live, own->seq);
    sq->wakeup_count = 0;
    if (r == 1 && hf_sq_wake_followers(sq, own->line, own->seq) == 0)
        hf_sq_wake_send(sq);
    hf_sq_watch_store_touch(sq);
    return r == 1 ? 1 : 0; /* a place that we cannot find counts as lost */
}

static int leave_own(struct hf_sq *sq, struct hf_sq_own *own)
{
    int r = remove_own(sq, own);

    assert(!sq->live.locked);
    if (r == HF_SQ_STALE || r == HF_SQ_LOCKED)
        return r;
    if (r < 0)
        r = leave_anyway(sq, own);
    hf_sq_own_end(sq, own, r == 0);
    return r == 1 ? 0 : hf_sq_fail(sq, HF_ELOST, "the place in the queue was taken away");
}

int hf_sq_leave(struct hf_sq *sq, struct hf_req *req)
{
    struct hf_sq_own *own = hf_sq_owns_find(&sq->owns, req->id);

    if (own != NULL)
        return leave_own(sq, own);
    if (hf_sq_owns_lost(&sq->owns, req->id))
        return hf_sq_fail(sq, HF_ELOST, "the place in the queue was lost before");
    return 0; /* a repeat, or the ENTER never succeeded */
}

void hf_sq_leave_all(struct hf_sq *sq)
{
    while (sq->owns.first != NULL)
        if (leave_own(sq, sq->owns.first) == HF_SQ_STALE)
            return; /* lost, and the session with it */
}
