/* place.c - a ticket's row is written, changed and removed: here, and nowhere else.
 *
 * What the sum of the line changes by is noted (sum.h).  Nobody may have a tally if nobody is
 * to be told anything, and then a row's figures need not be known.
 */
#include "store/sqlite/inner.h"

#include "holdfast.h"

#include <assert.h>

/* What a row counts for in the sum: 1 if it is there. */
static int weigh(struct hf_sq *sq, const char *line, uint64_t seq, bool *waits,
                 int64_t *weight)
{
    sqlite3_stmt *query = hf_sq_db_bind(&sq->db, HF_SQ_WEIGH, line, seq);

    int r = hf_sq_db_step(&sq->db, query);
    if (r != 1)
        return r;
    *weight = sqlite3_column_int64(query, 0);
    *waits = sqlite3_column_int(query, 1);
    sqlite3_reset(query);
    return 1;
}

int hf_sq_place_add(struct hf_sq *sq, const struct hf_req *req,
                    const struct hf_sq_row *row)
{
    sqlite3_stmt *query = hf_sq_db_bind(&sq->db, HF_SQ_ENTER, req->name, row->seq);

    assert(row->sid == sq->sid && sq->sid != 0);
    sqlite3_bind_int64(query, 3, (sqlite3_int64)row->sid);
    sqlite3_bind_int64(query, 4, row->shape.weight);
    sqlite3_bind_int64(query, 5, row->shape.capacity);
    sqlite3_bind_int(query, 6, row->shape.claim);
    sqlite3_bind_int64(query, 7, row->queued);
    sqlite3_bind_int64(query, 8, row->granted);
    sqlite3_bind_int(query, 9, row->slot);
    sqlite3_bind_text(query, 10, req->note != NULL ? req->note : "", -1, SQLITE_STATIC);
    int r = hf_sq_db_step(&sq->db, query);
    if (r == 0)
        hf_sq_sum_note(sq, 1, row->granted == 0, row->shape.weight);
    return r;
}

int hf_sq_place_remove(struct hf_sq *sq, const char *line, uint64_t seq)
{
    int64_t weight = 0;
    bool    waits = false;

    assert(sq->live.taken); /* lines are changed behind the gate only */
    int r = sq->head.told ? weigh(sq, line, seq, &waits, &weight) : 0;
    if (r == 1)
        hf_sq_sum_note(sq, -1, -(int64_t)waits, -weight);
    return r < 0
               ? r
               : hf_sq_db_step(&sq->db, hf_sq_db_bind(&sq->db, HF_SQ_REMOVE, line, seq));
}

int hf_sq_place_grant(struct hf_sq *sq, const char *line, const struct hf_sq_row *row)
{
    sqlite3_stmt *query = hf_sq_db_bind(&sq->db, HF_SQ_GRANT, line, row->seq);

    assert(row->granted == 0);
    sqlite3_bind_int64(query, 3, hf_wall_us());
    sqlite3_bind_int(query, 4, row->slot);
    int r = hf_sq_db_step(&sq->db, query);
    if (r == 0)
        hf_sq_sum_note(sq, 0, -1, 0);
    return r;
}

int hf_sq_place_lessen(struct hf_sq *sq, const char *line, uint64_t seq, uint32_t weight)
{
    sqlite3_stmt *query = hf_sq_db_bind(&sq->db, HF_SQ_AMEND, line, seq);
    int64_t       before = 0;
    bool          waits = false;

    int r = sq->head.told ? weigh(sq, line, seq, &waits, &before) : 0;
    if (r < 0)
        return r;
    if (r == 1)
        hf_sq_sum_note(sq, 0, 0, weight - before);
    sqlite3_bind_int64(query, 3, weight);
    return hf_sq_db_step(&sq->db, query);
}

int hf_sq_places_end(struct hf_sq *sq, uint64_t sid)
{
    sqlite3_stmt *query = hf_sq_db_bind(&sq->db, HF_SQ_END, NULL, sid);
    int           r;

    assert(sq->live.taken);
    while ((r = hf_sq_db_step(&sq->db, query)) == 1) {
        const char *line = (const char *)sqlite3_column_text(query, 0);
        uint64_t    seq = (uint64_t)sqlite3_column_int64(query, 1);
        hf_sq_sum_note(sq, -1, -sqlite3_column_int64(query, 3),
                       -sqlite3_column_int64(query, 2));
        r = line != NULL ? hf_sq_departed(sq, line, seq)
                         : hf_sq_fail(sq, HF_ENOMEM, "out of memory");
        if (r < 0)
            break;
    }
    sqlite3_reset(query);
    return r;
}
