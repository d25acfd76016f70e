/* past.c - writing down what happens, in the transaction in which it does. */
#include "store/sqlite/inner.h"

#include "holdfast.h"

#include <assert.h>

/* Old records are removed so many at a time, which costs less than one by one.  So there are a
 * few more rows than are told. */
#define PIECE 64

static bool is_kept(const struct hf_sq *sq)
{
    assert(sq->live.taken);
    return sq->head.kept != 0;
}

/* The same thing, if it happens to one that waits. */
static char of_waiter(char what)
{
    switch (what) {
    case HF_PAST_RELEASED:
    case HF_PAST_LOST:
    case HF_PAST_BROKEN:
        return HF_PAST_LEFT;
    default:
        return what;
    }
}

/* The last row stays for its number, from which the next are counted; if none is to be kept,
 * without its text. */
int hf_sq_records_trim(struct hf_sq *sq, uint64_t keep)
{
    uint64_t last = 0;

    assert(sq->live.taken);
    int r = hf_sq_db_number(&sq->db, HF_SQ_LATEST, &last);
    if (r < 0 || last == 0)
        return r;
    uint64_t end = keep == 0 ? last - 1 : last > keep ? last - keep : 0;
    r = hf_sq_db_step(&sq->db, hf_sq_db_bind(&sq->db, HF_SQ_TRIM, NULL, end));
    if (r == 0 && keep == 0)
        r = hf_sq_db_run(&sq->db, HF_SQ_BLANK);
    return r;
}

/* What happened must not cost locks for want of room.  So old records make way for new ones, and
 * if there are none left, what happens is not recorded. */
static int insert(struct hf_sq *sq, sqlite3_stmt *query, uint64_t *added)
{
    sqlite3 *handle = sq->db.handle;
    int      r;

    *added = 0;
    while ((r = hf_sq_db_step_within(&sq->db, query)) == HF_EFULL &&
           sqlite3_get_autocommit(handle) == 0) {
        r = hf_sq_db_run(&sq->db, HF_SQ_HALVE);
        if (r < 0 || sqlite3_changes(handle) == 0)
            return r;
    }
    if (r == 0)
        *added = (uint64_t)sqlite3_changes(handle);
    return r;
}

/* Of those that the query finds: see queries.sql. */
static int add_records(struct hf_sq *sq, sqlite3_stmt *query, char what,
                       const char *reason)
{
    sqlite3_bind_int(query, 3, what);
    sqlite3_bind_int(query, 4, of_waiter(what));
    sqlite3_bind_int64(query, 5, hf_wall_us());
    sqlite3_bind_text(query, 6, reason, -1, SQLITE_STATIC);
    uint64_t added;
    int      r = insert(sq, query, &added);
    if (r < 0 || added == 0)
        return r;
    uint64_t last = (uint64_t)sqlite3_last_insert_rowid(sq->db.handle);
    return last / PIECE != (last - added) / PIECE ? hf_sq_records_trim(sq, sq->head.kept)
                                                  : 0;
}

int hf_sq_record(struct hf_sq *sq, const char *line, uint64_t seq, char what,
                 const char *reason)
{
    if (!is_kept(sq))
        return 0;
    return add_records(sq, hf_sq_db_bind(&sq->db, HF_SQ_RECORD, line, seq), what, reason);
}

int hf_sq_record_loss(struct hf_sq *sq, uint64_t sid)
{
    if (!is_kept(sq))
        return 0;
    return add_records(sq, hf_sq_db_bind(&sq->db, HF_SQ_RECORD_ALL, NULL, sid),
                       HF_PAST_LOST, "");
}

int hf_sq_settle(struct hf_sq *sq, const char *line, uint64_t seq)
{
    struct hf_sq_row  row;
    struct hf_sq_view view;

    if (!is_kept(sq))
        return 0;
    int r = hf_sq_row_find(sq, line, seq, &row);
    if (r <= 0 || row.granted != 0 || hf_shape_strange(&row.shape))
        return r < 0 ? r : 0;
    r = hf_sq_judge(sq, line, seq, &row.shape, &view);
    return r < 0 || sq->dead.count == 0 ? r : hf_sq_sweep(sq, line);
}
