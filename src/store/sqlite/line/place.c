/* place.c - adding, changing and removing the row of a place: here, and nowhere else.
 *
 * The last row of a line has the running total of the line: how many places there are,
 * how many of them wait, and their weight.  So without reading the line a client that
 * joins knows how many are ahead, a reader knows that it fits, and a client that leaves
 * knows whether anybody waits.
 *
 *     open    before the first change of the line: read the total
 *     change  by every function here
 *     close   after the last change, by ENTER or after granting (grant.c): write the total
 *             to the row that is the last one then
 *
 * The totals of other rows are out of date, and nobody reads them.  0 means "unknown":
 * another program wrote that row, and the line is counted.
 */
#include "store/sqlite/db/db.h"
#include "store/sqlite/inner.h"
#include "store/sqlite/line/line.h"

#include "holdfast.h"

#include <assert.h>

/* ---- The running total ------------------------------------------------------- */

static void read_total(struct hf_sq_total *total, sqlite3_stmt *query, int column)
{
    total->places = (uint64_t)sqlite3_column_int64(query, column);
    total->waits = (uint64_t)sqlite3_column_int64(query, column + 1);
    total->weight = (uint64_t)sqlite3_column_int64(query, column + 2);
}

static int count_line(struct hf_sq *sq, const char *line)
{
    sqlite3_stmt *query = hf_sq_db_bind(&sq->db, HF_SQ_COUNT_TOTAL, line, 0);

    int r = hf_sq_db_step(&sq->db, query);
    if (r != 1)
        return r;
    read_total(&sq->total, query, 0);
    sqlite3_reset(query);
    return 0;
}

int hf_sq_total_open(struct hf_sq *sq, const char *line)
{
    assert(sq->live.locked); /* lines change only under the write lock */
    if (sq->total.open)
        return 0;
    sq->total = (struct hf_sq_total){ 0 };
    sqlite3_stmt *query = hf_sq_db_bind(&sq->db, HF_SQ_LAST, line, 0);
    int           r = hf_sq_db_step(&sq->db, query);
    if (r < 0)
        return r;
    sq->total.open = true;
    if (r == 0)
        return 0;
    hf_sq_row_read(query, &sq->total.last);
    read_total(&sq->total, query, 8);
    sqlite3_reset(query);
    return sq->total.places > 0 ? 0 : count_line(sq, line);
}

static void change_total(struct hf_sq *sq, int places, int waits, int64_t weight)
{
    assert(sq->total.open);
    sq->total.places += (uint64_t)places;
    sq->total.waits += (uint64_t)waits;
    sq->total.weight += (uint64_t)weight;
    sq->total.changed = true;
}

static void bind_total(sqlite3_stmt *query, int first, const struct hf_sq_total *total)
{
    sqlite3_bind_int64(query, first, (sqlite3_int64)total->places);
    sqlite3_bind_int64(query, first + 1, (sqlite3_int64)total->waits);
    sqlite3_bind_int64(query, first + 2, (sqlite3_int64)total->weight);
}

int hf_sq_total_close(struct hf_sq *sq, const char *line)
{
    struct hf_sq_total total = sq->total;

    sq->total.open = sq->total.changed = false;
    if (!total.open || !total.changed || total.places == 0)
        return 0;
    /* More places left than there were: somebody has edited the rows. */
    if (total.places > INT64_MAX || total.waits > total.places ||
        total.weight < total.places)
        total = (struct hf_sq_total){ 0 };
    sqlite3_stmt *query = hf_sq_db_bind(&sq->db, HF_SQ_SET_TOTAL, line, total.last.seq);
    bind_total(query, 3, &total);
    return hf_sq_db_step(&sq->db, query);
}

/* ---- Rows -------------------------------------------------------------------- */

int hf_sq_place_add(struct hf_sq *sq, const struct hf_req *req,
                    const struct hf_sq_row *row)
{
    int r = hf_sq_total_open(sq, req->name);
    if (r < 0)
        return r;
    assert(row->sid == sq->sid && sq->sid != 0);
    change_total(sq, 1, row->granted == 0, row->shape.weight);
    sqlite3_stmt *query = hf_sq_db_bind(&sq->db, HF_SQ_ENTER, req->name, row->seq);
    sqlite3_bind_int64(query, 3, (sqlite3_int64)row->sid);
    sqlite3_bind_int64(query, 4, row->shape.weight);
    sqlite3_bind_int64(query, 5, row->shape.capacity);
    sqlite3_bind_int(query, 6, row->shape.claim);
    sqlite3_bind_int64(query, 7, row->queued);
    sqlite3_bind_int64(query, 8, row->granted);
    sqlite3_bind_int(query, 9, row->slot);
    sqlite3_bind_text(query, 10, req->note != NULL ? req->note : "", -1, SQLITE_STATIC);
    bind_total(query, 11, &sq->total);
    sq->total.changed = false; /* this row has it */
    sq->total.last = *row;
    return hf_sq_db_step(&sq->db, query);
}

int hf_sq_place_damaged(struct hf_sq *sq, const char *line)
{
    return hf_sq_fail(sq, HF_ECORRUPT,
                      "a row of \"%.120s\" is not found by its number: the file is "
                      "damaged, or was changed by hand",
                      line);
}

int hf_sq_place_remove(struct hf_sq *sq, const char *line, uint64_t seq)
{
    int r = hf_sq_total_open(sq, line);
    if (r < 0)
        return r;
    struct hf_sq_row row = sq->total.last; /* mostly it is the only one */
    r = row.seq == seq ? 1 : hf_sq_row_find(sq, line, seq, &row);
    if (r != 1)
        return r;
    if (sq->total.last.seq == seq)
        sq->total.last.seq = 0;
    change_total(sq, -1, row.granted == 0 ? -1 : 0, -(int64_t)row.shape.weight);
    r = hf_sq_db_step(&sq->db, hf_sq_db_bind(&sq->db, HF_SQ_REMOVE, line, seq));
    if (r == 0 && sqlite3_changes(sq->db.handle) == 0)
        r = hf_sq_place_damaged(sq, line);
    return r < 0 ? r : 1;
}

int hf_sq_place_grant(struct hf_sq *sq, const char *line, const struct hf_sq_row *row)
{
    sqlite3_stmt *query = hf_sq_db_bind(&sq->db, HF_SQ_GRANT, line, row->seq);

    assert(row->granted == 0);
    int r = hf_sq_total_open(sq, line);
    if (r < 0)
        return r;
    change_total(sq, 0, -1, 0);
    if (sq->total.last.seq == row->seq)
        sq->total.last.granted = 1;
    sqlite3_bind_int64(query, 3, hf_wall_us());
    sqlite3_bind_int(query, 4, row->slot);
    return hf_sq_db_step(&sq->db, query);
}

int hf_sq_place_downgrade(struct hf_sq *sq, const char *line, const struct hf_sq_row *row,
                          uint32_t weight)
{
    sqlite3_stmt *query = hf_sq_db_bind(&sq->db, HF_SQ_DOWNGRADE, line, row->seq);

    assert(weight < row->shape.weight);
    int r = hf_sq_total_open(sq, line);
    if (r < 0)
        return r;
    change_total(sq, 0, 0, (int64_t)weight - row->shape.weight);
    if (sq->total.last.seq == row->seq)
        sq->total.last.shape.weight = weight;
    sqlite3_bind_int64(query, 3, weight);
    return hf_sq_db_step(&sq->db, query);
}

/* All at once: none of them is granted because another one is gone. */
int hf_sq_places_remove_all(struct hf_sq *sq, uint64_t sid)
{
    sqlite3_stmt *query = hf_sq_db_bind(&sq->db, HF_SQ_END, NULL, sid);
    int           r;

    assert(sq->live.locked);
    while ((r = hf_sq_db_step(&sq->db, query)) == 1) {
        const char *line = (const char *)sqlite3_column_text(query, 0);
        uint64_t    seq = (uint64_t)sqlite3_column_int64(query, 1);
        r = line != NULL ? hf_sq_total_open(sq, line)
                         : hf_sq_fail(sq, HF_ENOMEM, "out of memory");
        if (r == 0)
            r = count_line(sq, line);
        sq->total.changed = true; /* the row that had it may be gone */
        if (r == 0)
            r = hf_sq_fill_room(sq, line, seq);
        if (r < 0)
            break;
    }
    sqlite3_reset(query);
    return r;
}
