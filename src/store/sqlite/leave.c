/* leave.c - LEAVE: giving a place up, and what is done when one was taken from us. */
#include "store/sqlite/inner.h"

#include "holdfast.h"

#include <assert.h>

void hf_sq_own_over(struct hf_sq *sq, struct hf_sq_own *own, bool lost)
{
    assert(own->seq != 0 && sq->sid != 0);
    hf_sq_live_drop(&sq->live, own->seq);
    hf_sq_watch_gone(sq, own);
    hf_sq_owns_drop(&sq->owns, own, lost);
}

int hf_sq_leave_inside(struct hf_sq *sq, const struct hf_sq_own *own)
{
    int r = hf_sq_record(sq, own->line, own->seq, HF_PAST_RELEASED, "");
    if (r == 0)
        r = hf_sq_place_remove(sq, own->line, own->seq);
    if (r != 1)
        return r;
    r = hf_sq_made_room(sq, own->line, own->seq);
    return r < 0 ? r : 1;
}

/* Remove the row and say who is next.  1 if it was there. */
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

/* The row cannot be removed: full disk, or a stopped process in the gate.  We
 * let go of the byte, which is what counts, and wake those behind us. */
static int leave_anyway(struct hf_sq *sq, const struct hf_sq_own *own)
{
    struct hf_sq_row mine;

    int r = hf_sq_row_find(sq, own->line, own->seq, &mine);
    hf_sq_live_drop(&sq->live, own->seq);
    sq->news_count = 0;
    if (r == 1 && hf_sq_tell_followers(sq, own->line, own->seq) == 0)
        hf_sq_tell_all(sq);
    hf_sq_survey_stir(sq);
    return r == 1 ? 1 : 0; /* what cannot be shown to be ours counts as lost */
}

static int leave_own(struct hf_sq *sq, struct hf_sq_own *own)
{
    int r = remove_own(sq, own);

    assert(!sq->live.taken);
    if (r == HF_SQ_STALE || r == HF_SQ_SHUT)
        return r;
    if (r < 0)
        r = leave_anyway(sq, own);
    hf_sq_own_over(sq, own, r == 0);
    return r == 1 ? 0 : hf_sq_fail(sq, HF_ELOST, "the place in the line was taken away");
}

int hf_sq_leave(struct hf_sq *sq, struct hf_req *req)
{
    struct hf_sq_own *own = hf_sq_owns_find(&sq->owns, req->id);

    if (own != NULL)
        return leave_own(sq, own);
    if (hf_sq_owns_lost(&sq->owns, req->id))
        return hf_sq_fail(sq, HF_ELOST, "the place in the line was lost before");
    return 0; /* a repeat, or nothing ever came of the ENTER */
}

void hf_sq_leave_all(struct hf_sq *sq)
{
    while (sq->owns.first != NULL)
        if (leave_own(sq, sq->owns.first) == HF_SQ_STALE)
            return; /* what is lost goes with the session */
}
