/* past.c - writing down what happens, in the transaction in which it does. */
#include "store/sqlite/inner.h"

#include "holdfast.h"

#include <assert.h>

/* Old records are removed now and then, so many at a time: each would be a page more. */
#define TRIM_EVERY 64

static int trim_past(struct hf_sq *sq, uint64_t last)
{
    if (last <= sq->head.kept)
        return 0;
    return hf_sq_db_step(
        &sq->db, hf_sq_db_bind(&sq->db, HF_SQ_TRIM, NULL, last - sq->head.kept));
}

/* The same thing, if it happens to one that waits. */
static char of_waiter(char what)
{
    switch (what) {
    case HF_PAST_GRANTED:
        return HF_PAST_ENTERED;
    case HF_PAST_RELEASED:
    case HF_PAST_LOST:
    case HF_PAST_BROKEN:
        return HF_PAST_LEFT;
    default:
        return what;
    }
}

static int write_records(struct hf_sq *sq, sqlite3_stmt *query, char what,
                         const char *reason)
{
    sqlite3_bind_int64(query, 3, hf_wall_us());
    sqlite3_bind_int(query, 4, what);
    sqlite3_bind_int(query, 5, of_waiter(what));
    sqlite3_bind_text(query, 6, reason, -1, SQLITE_STATIC);
    return hf_sq_db_step(&sq->db, query);
}

int hf_sq_record(struct hf_sq *sq, const char *line, uint64_t seq, char what,
                 const char *reason)
{
    assert(sq->live.taken);
    if (sq->head.kept == 0)
        return 0;
    int r = write_records(sq, hf_sq_db_bind(&sq->db, HF_SQ_RECORD, line, seq), what,
                          reason);
    uint64_t last = (uint64_t)sqlite3_last_insert_rowid(sq->db.handle);
    return r < 0 || last % TRIM_EVERY != 0 ? r : trim_past(sq, last);
}

int hf_sq_record_loss(struct hf_sq *sq, uint64_t sid)
{
    assert(sq->live.taken);
    if (sq->head.kept == 0)
        return 0;
    int r = write_records(sq, hf_sq_db_bind(&sq->db, HF_SQ_RECORD_ALL, NULL, sid),
                          HF_PAST_LOST, "");
    return r < 0 ? r
                 : trim_past(sq, (uint64_t)sqlite3_last_insert_rowid(sq->db.handle));
}

int hf_sq_settle(struct hf_sq *sq, const char *line, uint64_t seq)
{
    struct hf_sq_row  row;
    struct hf_sq_view view;

    assert(sq->live.taken);
    if (sq->head.kept == 0)
        return 0;
    int r = hf_sq_row_find(sq, line, seq, &row);
    if (r <= 0 || row.granted != 0 || hf_shape_strange(&row.shape))
        return r < 0 ? r : 0;
    r = hf_sq_rows_ahead(sq, line, seq, &row.shape, &view);
    return r < 0 || sq->dead.count == 0 ? r : hf_sq_sweep(sq, line);
}
