/* place.c - a ticket's row is written, changed and removed: here, and nowhere else.
 *
 * The last row of a line has the sum of the line: how many places there are, how many of them
 * wait, what they weigh.  So a client that joins knows how many are ahead, a reader that it
 * fits, and a client that leaves whether anybody waits, without reading the line.
 *
 *     open    before the first change of the line: the sum is read
 *     change  by every function here
 *     close   after the last change, by ENTER, or when those who fit are granted (grant.c): it
 *             is written to the row that is the last by then
 *
 * The sums of other rows are out of date, and nobody reads them.  0 means "not known": another
 * program wrote that row, and the line is counted.
 */
#include "store/sqlite/inner.h"

#include "holdfast.h"

#include <assert.h>

/* ---- The sum ---------------------------------------------------------------------- */

static void read_sum(struct hf_sq_sum *sum, sqlite3_stmt *query, int column)
{
    sum->places = (uint64_t)sqlite3_column_int64(query, column);
    sum->waits = (uint64_t)sqlite3_column_int64(query, column + 1);
    sum->weight = (uint64_t)sqlite3_column_int64(query, column + 2);
}

static int count_anew(struct hf_sq *sq, const char *line)
{
    sqlite3_stmt *query = hf_sq_db_bind(&sq->db, HF_SQ_SUM, line, 0);

    int r = hf_sq_db_step(&sq->db, query);
    if (r != 1)
        return r;
    read_sum(&sq->sum, query, 0);
    sqlite3_reset(query);
    return 0;
}

int hf_sq_sum_open(struct hf_sq *sq, const char *line)
{
    assert(sq->live.taken); /* lines are changed behind the gate only */
    if (sq->sum.open)
        return 0;
    sq->sum = (struct hf_sq_sum){ 0 };
    sqlite3_stmt *query = hf_sq_db_bind(&sq->db, HF_SQ_LAST, line, 0);
    int           r = hf_sq_db_step(&sq->db, query);
    if (r < 0)
        return r;
    sq->sum.open = true;
    if (r == 0)
        return 0;
    hf_sq_row_read(query, &sq->sum.last);
    read_sum(&sq->sum, query, 8);
    sqlite3_reset(query);
    return sq->sum.places > 0 ? 0 : count_anew(sq, line);
}

static void change_sum(struct hf_sq *sq, int places, int waits, int64_t weight)
{
    assert(sq->sum.open);
    sq->sum.places += (uint64_t)places;
    sq->sum.waits += (uint64_t)waits;
    sq->sum.weight += (uint64_t)weight;
    sq->sum.changed = true;
}

static void bind_sum(sqlite3_stmt *query, int first, const struct hf_sq_sum *sum)
{
    sqlite3_bind_int64(query, first, (sqlite3_int64)sum->places);
    sqlite3_bind_int64(query, first + 1, (sqlite3_int64)sum->waits);
    sqlite3_bind_int64(query, first + 2, (sqlite3_int64)sum->weight);
}

int hf_sq_sum_close(struct hf_sq *sq, const char *line)
{
    struct hf_sq_sum sum = sq->sum;

    sq->sum.open = sq->sum.changed = false;
    if (!sum.open || !sum.changed || sum.places == 0)
        return 0;
    /* More have gone than there were: somebody has edited the rows. */
    if (sum.places > INT64_MAX || sum.waits > sum.places || sum.weight < sum.places)
        sum = (struct hf_sq_sum){ 0 };
    sqlite3_stmt *query = hf_sq_db_bind(&sq->db, HF_SQ_SET_SUM, line, sum.last.seq);
    bind_sum(query, 3, &sum);
    return hf_sq_db_step(&sq->db, query);
}

/* ---- Rows -------------------------------------------------------------------------- */

int hf_sq_place_add(struct hf_sq *sq, const struct hf_req *req,
                    const struct hf_sq_row *row)
{
    int r = hf_sq_sum_open(sq, req->name);
    if (r < 0)
        return r;
    assert(row->sid == sq->sid && sq->sid != 0);
    change_sum(sq, 1, row->granted == 0, row->shape.weight);
    sqlite3_stmt *query = hf_sq_db_bind(&sq->db, HF_SQ_ENTER, req->name, row->seq);
    sqlite3_bind_int64(query, 3, (sqlite3_int64)row->sid);
    sqlite3_bind_int64(query, 4, row->shape.weight);
    sqlite3_bind_int64(query, 5, row->shape.capacity);
    sqlite3_bind_int(query, 6, row->shape.claim);
    sqlite3_bind_int64(query, 7, row->queued);
    sqlite3_bind_int64(query, 8, row->granted);
    sqlite3_bind_int(query, 9, row->slot);
    sqlite3_bind_text(query, 10, req->note != NULL ? req->note : "", -1, SQLITE_STATIC);
    bind_sum(query, 11, &sq->sum);
    sq->sum.changed = false; /* it is in the last row */
    sq->sum.last = *row;
    return hf_sq_db_step(&sq->db, query);
}

int hf_sq_place_remove(struct hf_sq *sq, const char *line, uint64_t seq)
{
    int r = hf_sq_sum_open(sq, line);
    if (r < 0)
        return r;
    struct hf_sq_row row = sq->sum.last; /* mostly it is alone */
    r = row.seq == seq ? 1 : hf_sq_row_find(sq, line, seq, &row);
    if (r != 1)
        return r;
    if (sq->sum.last.seq == seq)
        sq->sum.last.seq = 0;
    change_sum(sq, -1, row.granted == 0 ? -1 : 0, -(int64_t)row.shape.weight);
    r = hf_sq_db_step(&sq->db, hf_sq_db_bind(&sq->db, HF_SQ_REMOVE, line, seq));
    return r < 0 ? r : 1;
}

int hf_sq_place_grant(struct hf_sq *sq, const char *line, const struct hf_sq_row *row)
{
    sqlite3_stmt *query = hf_sq_db_bind(&sq->db, HF_SQ_GRANT, line, row->seq);

    assert(row->granted == 0);
    int r = hf_sq_sum_open(sq, line);
    if (r < 0)
        return r;
    change_sum(sq, 0, -1, 0);
    if (sq->sum.last.seq == row->seq)
        sq->sum.last.granted = 1;
    sqlite3_bind_int64(query, 3, hf_wall_us());
    sqlite3_bind_int(query, 4, row->slot);
    return hf_sq_db_step(&sq->db, query);
}

int hf_sq_place_lessen(struct hf_sq *sq, const char *line, const struct hf_sq_row *row,
                       uint32_t weight)
{
    sqlite3_stmt *query = hf_sq_db_bind(&sq->db, HF_SQ_AMEND, line, row->seq);

    assert(weight < row->shape.weight);
    int r = hf_sq_sum_open(sq, line);
    if (r < 0)
        return r;
    change_sum(sq, 0, 0, (int64_t)weight - row->shape.weight);
    if (sq->sum.last.seq == row->seq)
        sq->sum.last.shape.weight = weight;
    sqlite3_bind_int64(query, 3, weight);
    return hf_sq_db_step(&sq->db, query);
}

/* They go all at once: none of them is granted because another has gone. */
int hf_sq_places_end(struct hf_sq *sq, uint64_t sid)
{
    sqlite3_stmt *query = hf_sq_db_bind(&sq->db, HF_SQ_END, NULL, sid);
    int           r;

    assert(sq->live.taken);
    while ((r = hf_sq_db_step(&sq->db, query)) == 1) {
        const char *line = (const char *)sqlite3_column_text(query, 0);
        uint64_t    seq = (uint64_t)sqlite3_column_int64(query, 1);
        r = line != NULL ? hf_sq_sum_open(sq, line)
                         : hf_sq_fail(sq, HF_ENOMEM, "out of memory");
        if (r == 0)
            r = count_anew(sq, line);
        sq->sum.changed = true; /* the row that had it may be gone */
        if (r == 0)
            r = hf_sq_made_room(sq, line, seq);
        if (r < 0)
            break;
    }
    sqlite3_reset(query);
    return r;
}
