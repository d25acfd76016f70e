/* rows.c - reading a line: which places are alive, and which of them block another. */
#include "store/sqlite/db/db.h"
#include "store/sqlite/files/live.h"
#include "store/sqlite/inner.h"
#include "store/sqlite/line/line.h"
#include "store/sqlite/line/own.h"
#include "store/sqlite/watch.h"

#include "base/grow.h"
#include "holdfast.h"

#include <assert.h>
#include <stdlib.h>

void hf_sq_row_read(sqlite3_stmt *query, struct hf_sq_row *ret)
{
    *ret = (struct hf_sq_row){
        .seq = (uint64_t)sqlite3_column_int64(query, 0),
        .sid = (uint64_t)sqlite3_column_int64(query, 1),
        .shape =
            hf_shape_read(sqlite3_column_int64(query, 2), sqlite3_column_int64(query, 3),
                          sqlite3_column_int64(query, 4) != 0),
        .queued = sqlite3_column_int64(query, 5),
        .granted = sqlite3_column_int64(query, 6),
        .slot = sqlite3_column_int(query, 7),
    };
}

/* We know our own places.  The kernel needs longer to answer, the more liveness locks
 * there are. */
bool hf_sq_is_alive(const struct hf_sq *sq, uint64_t seq)
{
    return hf_sq_owns_by_seq(&sq->owns, seq) != NULL ||
           hf_sq_live_is_locked(&sq->live, seq);
}

int hf_sq_rows_add(struct hf_sq *sq, struct hf_sq_rows *rows, const struct hf_sq_row *row)
{
    assert(rows == &sq->rows || rows == &sq->dead);
    struct hf_sq_row *grown =
        hf_grow(rows->row, &rows->room, rows->count + 1, sizeof *grown);
    if (grown == NULL)
        return hf_sq_fail(sq, HF_ENOMEM, "out of memory");
    rows->row = grown;
    rows->row[rows->count++] = *row;
    return 0;
}

int hf_sq_row_find(struct hf_sq *sq, const char *line, uint64_t seq,
                   struct hf_sq_row *ret)
{
    sqlite3_stmt *query = hf_sq_db_bind(&sq->db, HF_SQ_ONE, line, seq);

    int r = hf_sq_db_step(&sq->db, query);
    if (r != 1)
        return r;
    hf_sq_row_read(query, ret);
    sqlite3_reset(query);
    return 1;
}

int hf_sq_count_ahead(struct hf_sq *sq, const char *line, uint64_t seq, uint64_t *ret)
{
    sqlite3_stmt *query = hf_sq_db_bind(&sq->db, HF_SQ_COUNT, line, seq);

    int r = hf_sq_db_step(&sq->db, query);
    if (r != 1)
        return r;
    *ret = (uint64_t)sqlite3_column_int64(query, 0);
    sqlite3_reset(query);
    return 0;
}

int hf_sq_rows_all(struct hf_sq *sq, const char *line, uint64_t *stamp)
{
    sqlite3_stmt *query = hf_sq_db_bind(&sq->db, HF_SQ_BEHIND, line, 0);
    int           r;

    sq->rows.count = sq->dead.count = 0;
    *stamp = hf_sq_stamp(0, &(struct hf_sq_row){ 0 });
    while ((r = hf_sq_db_step(&sq->db, query)) == 1) {
        struct hf_sq_row row;
        hf_sq_row_read(query, &row);
        bool alive = hf_sq_is_alive(sq, row.seq);
        r = hf_sq_rows_add(sq, alive ? &sq->rows : &sq->dead, &row);
        if (r < 0)
            break;
        if (alive)
            *stamp = hf_sq_stamp(*stamp, &row);
    }
    sqlite3_reset(query);
    return r;
}

/* ---- The places ahead -------------------------------------------------------- */

/* The places ahead, the nearest first: from sq->rows as far as they were read before,
 * then from the database into sq->rows. */
struct cursor {
    struct hf_sq *sq;
    sqlite3_stmt *query;
    size_t        next;
};

static int next_ahead(void *from, struct hf_shape *ret)
{
    struct cursor *cursor = from;
    struct hf_sq  *sq = cursor->sq;

    while (cursor->next == sq->rows.count) {
        struct hf_sq_row row;
        int              r = hf_sq_db_step(&sq->db, cursor->query);
        if (r != 1)
            return r;
        hf_sq_row_read(cursor->query, &row);
        r = hf_sq_rows_add(sq, hf_sq_seq_is_valid(row.seq) ? &sq->rows : &sq->dead, &row);
        if (r < 0)
            return r;
    }
    *ret = sq->rows.row[cursor->next++].shape;
    return 1;
}

/* Move dead places from sq->rows to sq->dead: 1 if there were any, 0, or an error. */
static int leave_out_dead(struct hf_sq *sq)
{
    size_t kept = 0, all = sq->rows.count;

    for (size_t i = 0; i < all; i++) {
        struct hf_sq_row *row = &sq->rows.row[i];
        row->seen_alive = row->seen_alive || hf_sq_is_alive(sq, row->seq);
        if (row->seen_alive) {
            sq->rows.row[kept++] = *row;
            continue;
        }
        int r = hf_sq_rows_add(sq, &sq->dead, row);
        if (r < 0)
            return r;
    }
    sq->rows.count = kept;
    return kept < all;
}

/* We check whether places are alive only when some block us: otherwise it does not
 * matter. */
int hf_sq_judge(struct hf_sq *sq, const char *line, uint64_t before,
                const struct hf_shape *shape, struct hf_sq_view *ret)
{
    struct cursor      cursor = { .sq = sq };
    struct hf_blockers blockers;
    int                r;

    assert(shape->weight >= 1 && shape->weight <= shape->capacity);
    cursor.query = hf_sq_db_bind(&sq->db, HF_SQ_AHEAD, line, before);
    sq->rows.count = sq->dead.count = 0;
    do {
        cursor.next = 0;
        r = hf_line_walk(shape, next_ahead, &cursor, &ret->verdict, &blockers);
        if (r == 0 && ret->verdict != HF_PASSES)
            r = leave_out_dead(sq);
    } while (r == 1);
    sqlite3_reset(cursor.query);
    ret->one_blocker = blockers.alone;
    return r;
}

int hf_sq_mismatch(struct hf_sq *sq, const char *line, const struct hf_sq_view *view)
{
    int r = hf_verdict_status(view->verdict);

    if (r == 0)
        return 0;
    const struct hf_sq_row *row = &sq->rows.row[sq->rows.count - 1]; /* it decides */
    if (view->verdict == HF_BARRED)
        return hf_store_invalid(&sq->base, row->seq);
    if (hf_shape_has_slots(&row->shape))
        return hf_sq_fail(sq, r, "\"%.120s\" is in use as a semaphore of %u", line,
                          row->shape.capacity);
    return hf_sq_fail(sq, r, "\"%.120s\" is in use as a %s", line,
                      hf_shape_kind(&row->shape));
}

int hf_sq_tie(struct hf_sq *sq, struct hf_sq_ties *ties, const struct hf_sq_row *row)
{
    struct hf_sq_tie *grown =
        hf_grow(ties->tie, &ties->room, ties->count + 1, sizeof *grown);

    if (grown == NULL)
        return hf_sq_fail(sq, HF_ENOMEM, "out of memory");
    ties->tie = grown;
    ties->tie[ties->count++] = (struct hf_sq_tie){ row->seq, row->sid };
    return 0;
}

int hf_sq_tie_blockers(struct hf_sq *sq, struct hf_sq_own *own,
                       const struct hf_sq_view *view)
{
    size_t first = view->one_blocker && sq->rows.count > 0 ? sq->rows.count - 1 : 0;
    int    r = 0;

    own->watch.ties.count = 0;
    for (size_t i = first; r == 0 && i < sq->rows.count; i++)
        r = hf_sq_tie(sq, &own->watch.ties, &sq->rows.row[i]);
    return r;
}
