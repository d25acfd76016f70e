/* grant.c - what follows from a departure: who is granted, who is told.
 *
 * Whoever changes a line does so: he writes down which tickets are granted by
 * it, gives them their slots, and tells exactly their sessions.  Dead tickets
 * met on the way are removed, so that nobody is told in vain while somebody
 * alive sleeps on behind it.
 */
#include "store/sqlite/inner.h"

#include "holdfast.h"

#include <assert.h>
#include <stdlib.h>

/* Of more holders than this, not every one is asked whether it is alive. */
#define MANY 64

/* The tickets that fit, from the head of the line, into sq->rows; and the first
 * that does not: 1 if there is one. */
static int read_fitting(struct hf_sq *sq, const char *line, struct hf_sq_row *blocked)
{
    sqlite3_stmt *query = hf_sq_db_bind(&sq->db, HF_SQ_BEHIND, line, 0);
    uint64_t      used = 0;
    int           r;

    sq->rows.count = 0;
    while ((r = hf_sq_db_step(&sq->db, query)) == 1) {
        hf_sq_row_read(query, blocked);
        used += blocked->shape.weight;
        bool agrees = sq->rows.count == 0 ||
                      hf_shape_agrees(&sq->rows.row[0].shape, &blocked->shape);
        if (!agrees || used > blocked->shape.capacity)
            break;
        r = hf_sq_rows_add(sq, &sq->rows, blocked);
        if (r < 0)
            break;
    }
    sqlite3_reset(query);
    return r;
}

/* How many were removed, or an error. */
static int remove_dead(struct hf_sq *sq, const char *line, bool all)
{
    int removed = 0;

    for (size_t i = 0; i < sq->rows.count; i++) {
        const struct hf_sq_row *row = &sq->rows.row[i];
        if ((!all && row->granted != 0) || hf_sq_is_alive(sq, row->seq))
            continue;
        int r = hf_sq_record(sq, line, row->seq, HF_PAST_LOST, "");
        if (r == 0)
            r = hf_sq_place_remove(sq, line, row->seq);
        if (r < 0)
            return r;
        removed++;
    }
    return removed;
}

int hf_sq_free_slot(struct hf_sq *sq, int *ret)
{
    size_t count = sq->rows.count;
    bool  *taken = calloc(count + 1, sizeof *taken);
    if (taken == NULL)
        return hf_sq_fail(sq, HF_ENOMEM, "out of memory");

    for (size_t i = 0; i < count; i++)
        if (sq->rows.row[i].slot >= 0 && (size_t)sq->rows.row[i].slot <= count)
            taken[sq->rows.row[i].slot] = true;
    int slot = 0;
    while (taken[slot])
        slot++;
    free(taken);
    assert((size_t)slot <= count); /* so many cannot take more */
    *ret = slot;
    return 0;
}

static int grant_row(struct hf_sq *sq, const char *line, struct hf_sq_row *row)
{
    assert(row->granted == 0);
    if (hf_shape_has_slots(&row->shape)) {
        int r = hf_sq_free_slot(sq, &row->slot);
        if (r < 0)
            return r;
    }
    int r = hf_sq_place_grant(sq, line, row);
    if (r == 0)
        r = hf_sq_record(sq, line, row->seq, HF_PAST_GRANTED, "");
    return r < 0 ? r : hf_sq_tell(sq, row->sid, row->seq);
}

static int grant_rows(struct hf_sq *sq, const char *line)
{
    for (size_t i = 0; i < sq->rows.count; i++) {
        if (sq->rows.row[i].granted != 0)
            continue;
        int r = grant_row(sq, line, &sq->rows.row[i]);
        if (r < 0)
            return r;
    }
    return 0;
}

int hf_sq_grant_fitting(struct hf_sq *sq, const char *line)
{
    struct hf_sq_row blocked;
    int              waits, removed;

    assert(sq->live.taken);
    do {
        waits = read_fitting(sq, line, &blocked);
        if (waits < 0)
            return waits;
        removed = remove_dead(sq, line, waits == 1 && sq->rows.count <= MANY);
        if (removed < 0)
            return removed;
        if (removed > 0) {
            int r = hf_sq_tell_watchers(sq, line, true);
            if (r < 0)
                return r;
        }
    } while (removed > 0);

    int r = grant_rows(sq, line); /* all of them are alive */
    if (r == 0 && waits == 1 && sq->rows.count > MANY)
        r = hf_sq_tell(sq, blocked.sid, blocked.seq); /* let it find out itself */
    return r;
}

/* A ticket behind counted the one that left among those in its way if what
 * stands between the two left room for it.  It has to look again even if it is
 * not granted: it may have to wait for somebody else now. */
int hf_sq_tell_followers(struct hf_sq *sq, const char *line, uint64_t seq)
{
    sqlite3_stmt *query = hf_sq_db_bind(&sq->db, HF_SQ_BEHIND, line, seq);
    uint64_t      between = 0;
    int           r;

    while ((r = hf_sq_db_step(&sq->db, query)) == 1) {
        struct hf_sq_row row;
        hf_sq_row_read(query, &row);
        if (between >= row.shape.capacity)
            break;
        if (row.granted == 0 && between + row.shape.weight <= row.shape.capacity) {
            r = hf_sq_tell(sq, row.sid, row.seq);
            if (r < 0)
                break;
        }
        between += row.shape.weight;
    }
    sqlite3_reset(query);
    return r < 0 ? r : 0;
}

/* Where one holds at a time and the next one does now, all others still wait
 * for the one before them. */
static bool handed_on(const struct hf_sq *sq)
{
    assert(sq->rows.count > 0);
    return sq->rows.row[0].granted == 0 && sq->rows.row[0].shape.capacity == 1;
}

static int made_room(struct hf_sq *sq, const char *line, uint64_t seq, bool departure)
{
    int r = hf_sq_grant_fitting(sq, line);

    if (r == 0 && sq->rows.count > 0 && !handed_on(sq))
        r = hf_sq_tell_followers(sq, line, seq);
    return r < 0 ? r : hf_sq_tell_watchers(sq, line, departure);
}

int hf_sq_departed(struct hf_sq *sq, const char *line, uint64_t seq)
{
    return made_room(sq, line, seq, true);
}

int hf_sq_lessened(struct hf_sq *sq, const char *line, uint64_t seq)
{
    return made_room(sq, line, seq, false);
}

/* Whoever is to be told is forgotten by that; the tally stays. */
static int tell_and_forget(struct hf_sq *sq, const char *line, bool departure)
{
    sqlite3_stmt *query = hf_sq_db_bind(&sq->db, HF_SQ_WATCHERS, line, !departure);
    bool          any = false;
    int           r;

    while ((r = hf_sq_db_step(&sq->db, query)) == 1) {
        uint64_t sid = (uint64_t)sqlite3_column_int64(query, 0);
        if (sid == HF_SQ_TALLY_SID) {
            hf_sq_tally_read(sq, query, 1);
            continue;
        }
        any = true;
        r = hf_sq_tell(sq, sid, hf_sq_line_hash(line));
        if (r < 0)
            break;
    }
    sqlite3_reset(query);
    if (r == 0 && any)
        r = hf_sq_db_step(&sq->db,
                          hf_sq_db_bind(&sq->db, HF_SQ_FORGET, line, !departure));
    return r;
}

int hf_sq_tell_watchers(struct hf_sq *sq, const char *line, bool departure)
{
    int r = 0;

    assert(sq->live.taken);
    sq->tally = (struct hf_sq_tally){ 0 };
    if (sq->head.told)
        r = tell_and_forget(sq, line, departure);
    if (r == 0)
        r = hf_sq_tally_write(sq, line);
    sq->recount |= sq->head.told && !sq->tally.there; /* that is there to be told */
    return r;
}

/* ---- Sweeping ----------------------------------------------------------------- */

int hf_sq_sweep(struct hf_sq *sq, const char *line)
{
    for (size_t i = 0; i < sq->dead.count; i++) {
        int r = hf_sq_record(sq, line, sq->dead.row[i].seq, HF_PAST_LOST, "");
        if (r == 0)
            r = hf_sq_place_remove(sq, line, sq->dead.row[i].seq);
        if (r < 0)
            return r;
    }
    int r = hf_sq_grant_fitting(sq, line);
    for (size_t i = 0; r == 0 && i < sq->dead.count; i++)
        r = hf_sq_tell_followers(sq, line, sq->dead.row[i].seq);
    return r < 0 ? r : hf_sq_tell_watchers(sq, line, true);
}
