/* break.c - BREAK: taking a place away from its owner.  ASK: leaving a reason at it why
 * the owner should give it up.
 *
 * The byte of a place in PATH-live stays locked, as only its session can unlock it.  So the
 * row is what counts: a session that finds its row gone has lost the place, and lets go of
 * the byte.  A word stays in its own table when the ticket goes, so that leaving costs nothing
 * more.  The next one who leaves a word clears such words away.
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

/* Change a living place of any session: in a transaction, and without a session of ours. */
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
    int r = hf_sq_record(sq, req->name, row->seq, HF_PAST_BROKEN,
                         req->note != NULL ? req->note : "");
    if (r == 0)
        r = hf_sq_place_remove(sq, req->name, row->seq);
    if (r >= 0)
        r = hf_sq_tell(sq, row->sid, row->seq); /* it sleeps, and has lost it */
    return r < 0 ? r : hf_sq_made_room(sq, req->name, row->seq);
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

static int leave_word(struct hf_sq *sq, const struct hf_req *req,
                      const struct hf_sq_row *row)
{
    int r = hf_sq_db_run(&sq->db, HF_SQ_UNASK);
    if (r == 0)
        r = write_asked(sq, req);
    if (r == 0)
        r = hf_sq_record(sq, req->name, row->seq, HF_PAST_ASKED,
                         req->note != NULL ? req->note : "");
    return r < 0 ? r : hf_sq_tell(sq, row->sid, row->seq);
}

int hf_sq_ask(struct hf_sq *sq, struct hf_req *req)
{
    return change_place(sq, req, leave_word);
}
