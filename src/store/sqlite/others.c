/* others.c - BREAK takes a place away from its owner; ASK leaves a reason why the owner
 * should give it up.
 *
 * A broken place keeps its liveness lock, as only its session can release that.  So the
 * row decides: a session that finds its row gone has lost the place, and releases the
 * lock.  A reason stays in its own table when the place goes, so that leaving costs
 * nothing more; the next ASK clears such reasons away.
 */
#include "store/sqlite/db/db.h"
#include "store/sqlite/files/live.h"
#include "store/sqlite/history/history.h"
#include "store/sqlite/inner.h"
#include "store/sqlite/line/line.h"
#include "store/sqlite/link.h"
#include "store/sqlite/wake/wake.h"

#include "holdfast.h"

#include <assert.h>

static int find_living(struct hf_sq *sq, const struct hf_req *req, struct hf_sq_row *ret)
{
    assert(sq->live.locked); /* the place stays until we have changed it */
    int r = hf_sq_row_find(sq, req->name, req->token, ret);

    if (r == 0 || (r == 1 && !hf_sq_live_is_locked(&sq->live, req->token)))
        return hf_sq_fail(sq, HF_ENOTFOUND, "that place in \"%.120s\" is gone",
                          req->name);
    return r < 0 ? r : 0;
}

/* Change a living place of any session, in a transaction; we need no session for that. */
static int change_place(struct hf_sq *sq, const struct hf_req *req,
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
    return hf_sq_end(sq, r);
}

static int take_away(struct hf_sq *sq, const struct hf_req *req,
                     const struct hf_sq_row *row)
{
    int r = hf_sq_history_add(sq, req->name, row->seq, HF_HISTORY_BROKEN,
                              req->note != NULL ? req->note : "");
    if (r == 0)
        r = hf_sq_place_remove(sq, req->name, row->seq);
    if (r >= 0)
        r = hf_sq_wake_add(sq, row->sid, row->seq); /* it does not know yet */
    return r < 0 ? r : hf_sq_fill_room(sq, req->name, row->seq);
}

int hf_sq_break(struct hf_sq *sq, struct hf_req *req)
{
    return change_place(sq, req, take_away);
}

static int write_asked(struct hf_sq *sq, const struct hf_req *req)
{
    sqlite3_stmt *query = hf_sq_db_bind(&sq->db, HF_SQ_ASK, req->name, req->token);

    sqlite3_bind_text(query, 3, req->note != NULL ? req->note : "", -1, SQLITE_STATIC);
    return hf_sq_db_step(&sq->db, query);
}

static int leave_reason(struct hf_sq *sq, const struct hf_req *req,
                        const struct hf_sq_row *row)
{
    int r = hf_sq_db_run(&sq->db, HF_SQ_UNASK);
    if (r == 0)
        r = write_asked(sq, req);
    if (r == 0)
        r = hf_sq_history_add(sq, req->name, row->seq, HF_HISTORY_ASKED,
                              req->note != NULL ? req->note : "");
    return r < 0 ? r : hf_sq_wake_add(sq, row->sid, row->seq);
}

int hf_sq_ask(struct hf_sq *sq, struct hf_req *req)
{
    return change_place(sq, req, leave_reason);
}
