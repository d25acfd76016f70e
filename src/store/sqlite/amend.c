/* amend.c - AMEND: a place of ours weighs less from now on. */
#include "store/sqlite/inner.h"

#include "holdfast.h"

#include <assert.h>

/* Only ever less, so that a late repeat of an earlier AMEND changes nothing. */
static int change_weight(struct hf_sq *sq, const struct hf_sq_own *own, uint32_t weight)
{
    struct hf_sq_row row;

    assert(sq->live.taken);
    int r = hf_sq_row_find(sq, own->line, own->seq, &row);
    if (r <= 0 || row.shape.weight <= weight)
        return r < 0 ? r : 0;
    r = hf_sq_place_lessen(sq, own->line, &row, weight);
    if (r == 0)
        r = hf_sq_record(sq, own->line, own->seq, HF_PAST_LESSENED, "");
    return r < 0 ? r : hf_sq_made_room(sq, own->line, own->seq);
}

static int lessen(struct hf_sq *sq, struct hf_sq_own *own, uint32_t weight)
{
    assert(weight >= 1);
    if (own->shape.weight <= weight)
        return 0;
    int r = hf_sq_begin(sq);
    if (r < 0)
        return r;
    r = hf_sq_end(sq, change_weight(sq, own, weight));
    if (r == 0)
        own->shape.weight = weight;
    return r;
}

int hf_sq_amend(struct hf_sq *sq, struct hf_req *req)
{
    struct hf_sq_own *own = hf_sq_owns_find(&sq->owns, req->id);

    int r = own != NULL ? lessen(sq, own, req->shape.weight) : 0;
    return r < 0 ? r : hf_sq_answer_own(sq, own, req);
}
