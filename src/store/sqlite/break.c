/* break.c - BREAK: taking a place away from whoever has it.
 *
 * Its byte in PATH-live stays locked, as only its session can unlock it.  So the row is what
 * counts here: a session that finds its row gone has lost the place, and lets go of the byte.
 */
#include "store/sqlite/inner.h"

#include "holdfast.h"

#include <assert.h>

static int find_living(struct hf_sq *sq, const struct hf_req *req, struct hf_sq_row *ret)
{
    assert(sq->live.taken); /* it cannot go between this and the change */
    int r = hf_sq_row_find(sq, req->name, req->token, ret);

    if (r == 0 || (r == 1 && !hf_sq_live_has(&sq->live, req->token)))
        return hf_sq_fail(sq, HF_ENOTFOUND, "that place in \"%.120s\" is gone",
                          req->name);
    return r < 0 ? r : 0;
}

int hf_sq_change_place(struct hf_sq *sq, const struct hf_req *req,
                       int (*change)(struct hf_sq *sq, const struct hf_req *req,
                                     const struct hf_sq_row *row))
{
    struct hf_sq_row row = { 0 };

    int r = hf_sq_connect(sq, false);
    if (r == 0)
        r = hf_sq_begin(sq);
    if (r < 0)
        return r;
    r = find_living(sq, req, &row);
    if (r == 0)
        r = change(sq, req, &row);
    if (r < 0) {
        hf_sq_abort(sq);
        return r;
    }
    return hf_sq_commit(sq);
}

static int take_away(struct hf_sq *sq, const struct hf_req *req,
                     const struct hf_sq_row *row)
{
    int r = hf_sq_settle(sq, req->name, row->seq);
    if (r == 0)
        r = hf_sq_record(sq, req->name, row->seq, HF_PAST_BROKEN,
                         req->note != NULL ? req->note : "");
    if (r == 0)
        r = hf_sq_place_remove(sq, req->name, row->seq);
    if (r == 0)
        r = hf_sq_tell(sq, row->sid, row->seq); /* it sleeps, and has lost it */
    return r < 0 ? r : hf_sq_departed(sq, req->name, row->seq);
}

int hf_sq_break(struct hf_sq *sq, struct hf_req *req)
{
    return hf_sq_change_place(sq, req, take_away);
}
