/* downgrade.c - DOWNGRADE: reduce the weight of a place of ours. */
#include "store/sqlite/db/db.h"
#include "store/sqlite/history/history.h"
#include "store/sqlite/inner.h"
#include "store/sqlite/line/line.h"
#include "store/sqlite/line/own.h"

#include "holdfast.h"

#include <assert.h>

/* Never raise it: a late repeat of an earlier DOWNGRADE changes nothing. */
static int change_weight(struct hf_sq *sq, const struct hf_sq_own *own, uint32_t weight)
{
    struct hf_sq_row row;

    assert(sq->live.locked);
    int r = hf_sq_row_find(sq, own->line, own->seq, &row);
    if (r <= 0 || row.shape.weight <= weight)
        return r < 0 ? r : 0;
    r = hf_sq_place_downgrade(sq, own->line, &row, weight);
    if (r == 0)
        r = hf_sq_history_add(sq, own->line, own->seq, HF_HISTORY_DOWNGRADED, "");
    return r < 0 ? r : hf_sq_fill_room(sq, own->line, own->seq);
}

static int downgrade(struct hf_sq *sq, struct hf_sq_own *own, uint32_t weight)
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

int hf_sq_downgrade(struct hf_sq *sq, struct hf_req *req)
{
    struct hf_sq_own *own = hf_sq_owns_find(&sq->owns, req->id);

    int r = own != NULL ? downgrade(sq, own, req->shape.weight) : 0;
    return r < 0 ? r : hf_sq_own_answer(sq, own, req);
}
