/* rows.c - reading a line, and who of it is alive. */
#include "store/sqlite/inner.h"

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

/* Of our own it is known: their bytes are locked by us.  The kernel takes the longer the more
 * are locked. */
bool hf_sq_is_alive(const struct hf_sq *sq, uint64_t seq)
{
    return hf_sq_owns_by_seq(&sq->owns, seq) != NULL || hf_sq_live_has(&sq->live, seq);
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
    const unsigned char *asked = sqlite3_column_text(query, 8);
    if (asked != NULL) {
        hf_sq_forget_texts(sq);
        ret->asked = hf_sq_keep_text(sq, asked);
    }
    sqlite3_reset(query);
    if (asked != NULL && ret->asked == NULL)
        return hf_sq_fail(sq, HF_ENOMEM, "out of memory");
    return 1;
}

void hf_sq_rows_clear(struct hf_sq *sq)
{
    sq->rows.count = sq->dead.count = 0;
    sq->sum = (struct hf_sq_sum){ 0 };
}

int hf_sq_rows_all(struct hf_sq *sq, const char *line, uint64_t *stamp)
{
    sqlite3_stmt *query = hf_sq_db_bind(&sq->db, HF_SQ_BEHIND, line, 0);
    int           r;

    sq->rows.count = 0;
    *stamp = hf_sq_stamp(0, &(struct hf_sq_row){ 0 });
    while ((r = hf_sq_db_step(&sq->db, query)) == 1) {
        struct hf_sq_row row;
        hf_sq_row_read(query, &row);
        if (!hf_sq_is_alive(sq, row.seq))
            continue;
        r = hf_sq_rows_add(sq, &sq->rows, &row);
        if (r < 0)
            break;
        *stamp = hf_sq_stamp(*stamp, &row);
    }
    sqlite3_reset(query);
    return r;
}

/* ---- What is ahead ------------------------------------------------------------ */

/* Is the last of sq->rows, with all the others, in the way of that shape? */
static bool last_is_in_the_way(const struct hf_sq *sq, const struct hf_shape *shape)
{
    uint64_t weight = shape->weight;

    if (sq->rows.count == 0)
        return false;
    if (!hf_shape_agrees(&sq->rows.row[sq->rows.count - 1].shape, shape))
        return true;
    for (size_t i = 0; i < sq->rows.count; i++)
        weight += sq->rows.row[i].shape.weight;
    return weight > shape->capacity;
}

static int leave_out_dead(struct hf_sq *sq)
{
    size_t kept = 0;

    for (size_t i = 0; i < sq->rows.count; i++) {
        struct hf_sq_row *row = &sq->rows.row[i];
        row->proven = row->proven || hf_sq_is_alive(sq, row->seq);
        if (row->proven) {
            sq->rows.row[kept++] = *row;
            continue;
        }
        int r = hf_sq_rows_add(sq, &sq->dead, row);
        if (r < 0)
            return r;
    }
    sq->rows.count = kept;
    return 0;
}

static void reverse(struct hf_sq_rows *rows)
{
    for (size_t i = 0, j = rows->count; i + 1 < j; i++) {
        struct hf_sq_row row = rows->row[i];
        rows->row[i] = rows->row[--j];
        rows->row[j] = row;
    }
}

/* Go back from our place, and ask who is alive only when something is in the
 * way: where there is room anyway it does not matter. */
static int walk_back(struct hf_sq *sq, sqlite3_stmt *query, const struct hf_shape *shape,
                     struct hf_sq_view *ret)
{
    uint64_t weight = shape->weight;
    int      r;

    while ((r = hf_sq_db_step(&sq->db, query)) == 1) {
        struct hf_sq_row row;
        hf_sq_row_read(query, &row);
        r = hf_sq_rows_add(sq, hf_sq_live_can(row.seq) ? &sq->rows : &sq->dead, &row);
        if (r < 0)
            break;
        if (!hf_sq_live_can(row.seq))
            continue;
        weight += row.shape.weight;
        bool agrees = hf_shape_agrees(&row.shape, shape);
        if (agrees && weight <= shape->capacity)
            continue;
        r = leave_out_dead(sq);
        if (r < 0)
            break;
        if (last_is_in_the_way(sq, shape)) {
            *ret = (struct hf_sq_view){ .mismatch = !agrees };
            break;
        }
        weight = shape->weight;
        for (size_t i = 0; i < sq->rows.count; i++)
            weight += sq->rows.row[i].shape.weight;
    }
    return r;
}

int hf_sq_rows_ahead(struct hf_sq *sq, const char *line, uint64_t before,
                     const struct hf_shape *shape, struct hf_sq_view *ret)
{
    sqlite3_stmt     *query = hf_sq_db_bind(&sq->db, HF_SQ_AHEAD, line, before);
    struct hf_sq_view view = { .granted = true };

    assert(shape->weight >= 1 && shape->weight <= shape->capacity);
    sq->rows.count = sq->dead.count = 0;
    int r = walk_back(sq, query, shape, &view);
    sqlite3_reset(query);
    if (r < 0)
        return r;
    reverse(&sq->rows);
    *ret = view;
    return 0;
}

int hf_sq_rows_ahead_of_own(struct hf_sq *sq, const struct hf_sq_own *own,
                            struct hf_sq_view *ret)
{
    assert(own->seq != 0);
    int r = hf_sq_sum_up(sq, own->line, own->seq);
    if (r == 0)
        r = hf_sq_rows_ahead(sq, own->line, own->seq, &own->shape, ret);
    if (r == 0 && sq->sum.ahead >= sq->dead.count)
        sq->sum.ahead -= sq->dead.count;
    return r;
}

int hf_sq_rows_keep(struct hf_sq *sq, struct hf_sq_own *own)
{
    size_t            count = sq->rows.count;
    struct hf_sq_tie *ahead = own->ahead;

    assert(own->ahead != NULL || own->count == 0);
    if (count > own->count)
        ahead = realloc(own->ahead, count * sizeof *ahead);
    if (ahead == NULL && count > 0)
        return hf_sq_fail(sq, HF_ENOMEM, "out of memory");
    own->ahead = ahead;
    own->count = count;
    for (size_t i = 0; i < own->count; i++)
        ahead[i] = (struct hf_sq_tie){ sq->rows.row[i].seq, sq->rows.row[i].sid };
    return 0;
}
