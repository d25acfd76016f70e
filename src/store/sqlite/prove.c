/* prove.c - PROVE: is a place held, by the database and by the kernel? */
#include "store/sqlite/inner.h"

#include "holdfast.h"

#include <assert.h>

/* Nobody in its way?  What is granted need not be written down yet, but for a slot. */
static int prove_row(struct hf_sq *sq, const char *line, const struct hf_sq_row *row,
                     uint64_t seq)
{
    struct hf_sq_view view;

    if (hf_shape_strange(&row->shape))
        return hf_store_strange(&sq->base, seq);
    if (row->granted != 0)
        return 0;
    int r = hf_sq_judge(sq, line, seq, &row->shape, &view);
    if (r < 0)
        return r;
    return view.verdict == HF_PASSES && !hf_shape_has_slots(&row->shape) ? 0 : HF_ELOST;
}

/* `own`: NULL if it is another session's. */
static int prove_place(struct hf_sq *sq, const char *line, uint64_t seq,
                       struct hf_sq_own *own)
{
    struct hf_sq_row row;

    int r = hf_sq_row_find(sq, line, seq, &row);
    if (r < 0)
        return r;
    if (r == 1 && hf_sq_live_has(&sq->live, seq))
        return prove_row(sq, line, &row, seq);
    if (own != NULL)
        hf_sq_own_over(sq, own, true);
    return HF_ELOST;
}

int hf_sq_prove(struct hf_sq *sq, struct hf_req *req)
{
    struct hf_sq_own *own = hf_sq_owns_find(&sq->owns, req->id);
    int               r = HF_ELOST;

    assert(own == NULL || sq->sid != 0); /* who has a place has a session */
    if (req->id == 0)
        r = hf_sq_connect(sq, false);
    if (r == 0 || own != NULL) {
        if (!hf_sq_current(sq))
            return HF_SQ_STALE;
        r = prove_place(sq, req->name, own != NULL ? own->seq : req->token, own);
    }
    if (r == HF_ELOST || r == HF_ENOTFOUND)
        r = hf_sq_fail(sq, HF_ELOST, "\"%.120s\" is not held by that place (any more)",
                       req->name);
    return r;
}
