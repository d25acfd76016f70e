/* verify.c - VERIFY: do row and liveness lock say that a place holds the lock? */
#include "store/sqlite/files/live.h"
#include "store/sqlite/inner.h"
#include "store/sqlite/line/line.h"
#include "store/sqlite/line/own.h"
#include "store/sqlite/link.h"

#include "holdfast.h"

#include <assert.h>

/* Is it granted, or does nothing block it?  A grant need not be in the row yet, unless it
 * includes a slot. */
static int verify_row(struct hf_sq *sq, const char *line, const struct hf_sq_row *row,
                      uint64_t seq)
{
    struct hf_sq_view view;

    if (hf_shape_invalid(&row->shape))
        return hf_store_invalid(&sq->base, seq);
    if (row->granted != 0)
        return 0;
    int r = hf_sq_judge(sq, line, seq, &row->shape, &view);
    if (r < 0)
        return r;
    return view.verdict == HF_PASSES && !hf_shape_has_slots(&row->shape) ? 0 : HF_ELOST;
}

/* `own`: NULL for a place of another session. */
static int verify_place(struct hf_sq *sq, const char *line, uint64_t seq,
                        struct hf_sq_own *own)
{
    struct hf_sq_row row;

    int r = hf_sq_row_find(sq, line, seq, &row);
    if (r < 0)
        return r;
    if (r == 1 && hf_sq_live_is_locked(&sq->live, seq))
        return verify_row(sq, line, &row, seq);
    if (own != NULL)
        hf_sq_own_end(sq, own, true);
    return HF_ELOST;
}

int hf_sq_verify(struct hf_sq *sq, struct hf_req *req)
{
    struct hf_sq_own *own = hf_sq_owns_find(&sq->owns, req->id);
    int               r = HF_ELOST;

    assert(own == NULL || sq->sid != 0);
    if (req->id == 0)
        r = hf_sq_connect(sq, false);
    if (r == 0 || own != NULL) {
        if (!hf_sq_is_current(sq))
            return HF_SQ_STALE;
        r = verify_place(sq, req->name, own != NULL ? own->seq : req->token, own);
    }
    if (r == HF_ELOST || r == HF_ENOTFOUND)
        r = hf_sq_fail(sq, HF_ELOST, "\"%.120s\" is not held by that place (any more)",
                       req->name);
    return r;
}
