/* amend.c - AMEND, ASK and BREAK: what can happen to a place in the line. */
#include "store/sqlite/inner.h"

#include "holdfast.h"

#include <assert.h>

/* ---- AMEND -------------------------------------------------------------------- */

static int write_weight(struct hf_sq *sq, const struct hf_sq_own *own, uint32_t weight)
{
    sqlite3_stmt *query = hf_sq_db_bind(&sq->db, HF_SQ_AMEND, own->line, own->seq);

    sqlite3_bind_int64(query, 3, weight);
    return hf_sq_db_step(&sq->db, query);
}

/* Inside the transaction: 1 if there was anything to change.  Only ever less, so
 * that a late repeat of an earlier AMEND changes nothing. */
static int change_weight(struct hf_sq *sq, const struct hf_sq_own *own, uint32_t weight)
{
    struct hf_sq_row row;

    int r = hf_sq_row_find(sq, own->line, own->seq, &row);
    if (r <= 0 || row.shape.weight <= weight)
        return r < 0 ? r : 0;
    r = write_weight(sq, own, weight);
    if (r == 0)
        r = hf_sq_lessened(sq, own->line, own->seq);
    return r < 0 ? r : 1;
}

static int lessen(struct hf_sq *sq, struct hf_sq_own *own, uint32_t weight)
{
    assert(weight >= 1);
    if (own->shape.weight <= weight)
        return 0;
    int r = hf_sq_begin(sq);
    if (r < 0)
        return r;
    r = change_weight(sq, own, weight);
    if (r != 1) {
        hf_sq_abort(sq);
        return r;
    }
    r = hf_sq_commit(sq);
    if (r == 0)
        own->shape.weight = weight;
    return r;
}

int hf_sq_amend(struct hf_sq *sq, struct hf_req *req)
{
    struct hf_sq_own *own = hf_sq_owns_find(&sq->owns, req->id);

    int r = own != NULL ? lessen(sq, own, req->shape.weight) : 0;
    return r < 0 ? r : hf_sq_read(sq, req);
}

/* ---- ASK and BREAK: anybody's place -------------------------------------------- */

static int find_living(struct hf_sq *sq, const struct hf_req *req, struct hf_sq_row *ret)
{
    bool other = req->token != 0 && req->token != req->seq;
    int  r = other ? 0 : hf_sq_row_find(sq, req->name, req->seq, ret);

    if (r == 0 || (r == 1 && !hf_sq_live_has(&sq->live, req->seq)))
        return hf_sq_fail(sq, HF_ENOTFOUND, "that place in \"%.120s\" is gone",
                          req->name);
    return r < 0 ? r : 0;
}

static int write_word(struct hf_sq *sq, const struct hf_req *req)
{
    sqlite3_stmt *query = hf_sq_db_bind(&sq->db, HF_SQ_ASK, req->name, req->seq);

    sqlite3_bind_text(query, 3, req->note != NULL ? req->note : "", -1, SQLITE_STATIC);
    return hf_sq_db_step(&sq->db, query);
}

static int leave_word(struct hf_sq *sq, const struct hf_req *req)
{
    struct hf_sq_row row = { 0 };

    int r = find_living(sq, req, &row);
    if (r == 0)
        r = hf_sq_db_run(&sq->db, HF_SQ_UNASK);
    if (r == 0)
        r = write_word(sq, req);
    return r < 0 ? r : hf_sq_tell(sq, row.sid, row.seq);
}

static int take_away(struct hf_sq *sq, const struct hf_req *req)
{
    struct hf_sq_row row = { 0 };

    int r = find_living(sq, req, &row);
    if (r == 0)
        r = hf_sq_db_step(&sq->db,
                          hf_sq_db_bind(&sq->db, HF_SQ_REMOVE, req->name, req->seq));
    if (r == 0)
        r = hf_sq_tell(sq, row.sid, row.seq);
    return r < 0 ? r : hf_sq_departed(sq, req->name, req->seq);
}

/* For this no session is needed. */
static int in_transaction(struct hf_sq *sq, const struct hf_req *req,
                          int (*act)(struct hf_sq *sq, const struct hf_req *req))
{
    int r = hf_sq_connect(sq, false);

    if (r == 0)
        r = hf_sq_begin(sq);
    if (r < 0)
        return r;
    r = act(sq, req);
    if (r < 0) {
        hf_sq_abort(sq);
        return r;
    }
    return hf_sq_commit(sq);
}

int hf_sq_ask(struct hf_sq *sq, struct hf_req *req)
{
    return in_transaction(sq, req, leave_word);
}

int hf_sq_break(struct hf_sq *sq, struct hf_req *req)
{
    return in_transaction(sq, req, take_away);
}
