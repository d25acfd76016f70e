/* grant.c - after a place was removed: which places are granted, and which are woken.
 *
 * The client that changes a line records which places this grants, gives them
 * their slots, and notifies exactly their sessions.  It removes dead places
 * that it meets on the way, so that no dead session is notified while a living
 * one sleeps on behind it.
 */
#include "store/sqlite/db/db.h"
#include "store/sqlite/history/history.h"
#include "store/sqlite/inner.h"
#include "store/sqlite/line/line.h"
#include "store/sqlite/wake/wake.h"

#include "holdfast.h"

#include <assert.h>
#include <stdlib.h>

/* If there are more holders than this, we do not check whether each is alive. */
#define CHECK_MAX 64

/* Read the places that fit, from the front of the line, into sq->rows; and the first
 * that does not: 1 if there is one. */
static int read_fitting(struct hf_sq *sq, const char *line, struct hf_sq_row *blocked)
{
    sqlite3_stmt *query = hf_sq_db_bind(&sq->db, HF_SQ_BEHIND, line, 0);
    struct hf_sum ahead = { 0 };
    int           r;

    sq->rows.count = 0;
    while ((r = hf_sq_db_step(&sq->db, query)) == 1) {
        hf_sq_row_read(query, blocked);
        if (hf_shape_invalid(&blocked->shape) || !hf_sum_next(&ahead, &blocked->shape))
            break;
        r = hf_sq_rows_add(sq, &sq->rows, blocked);
        if (r < 0)
            break;
    }
    sqlite3_reset(query);
    return r;
}

static int remove_lost(struct hf_sq *sq, const char *line, uint64_t seq)
{
    int r = hf_sq_history_add(sq, line, seq, HF_HISTORY_LOST, "");

    return r < 0 ? r : hf_sq_place_remove(sq, line, seq);
}

/* How many were removed, or an error. */
static int remove_dead(struct hf_sq *sq, const char *line, bool all)
{
    int removed = 0;

    for (size_t i = 0; i < sq->rows.count; i++) {
        const struct hf_sq_row *row = &sq->rows.row[i];
        if ((!all && row->granted != 0) || hf_sq_is_alive(sq, row->seq))
            continue;
        int r = remove_lost(sq, line, row->seq);
        if (r == 0) /* else we would find it again, for ever */
            r = hf_sq_place_damaged(sq, line);
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
    assert((size_t)slot <= count); /* `count` places have at most as many slots */
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
        r = hf_sq_history_add(sq, line, row->seq, HF_HISTORY_GRANTED, "");
    return r < 0 ? r : hf_sq_wake_add(sq, row->sid, row->seq);
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

static int grant_fitting(struct hf_sq *sq, const char *line)
{
    struct hf_sq_row blocked;
    int              waits, removed;

    assert(sq->live.locked);
    do {
        waits = read_fitting(sq, line, &blocked);
        if (waits < 0)
            return waits;
        removed = remove_dead(sq, line, waits == 1 && sq->rows.count <= CHECK_MAX);
        if (removed < 0)
            return removed;
    } while (removed > 0);

    int r = grant_rows(sq, line); /* all of them are alive */
    if (r == 0 && waits == 1 && sq->rows.count > CHECK_MAX)
        r = hf_sq_wake_add(sq, blocked.sid, blocked.seq); /* it checks them itself */
    return r;
}

/* The place that left was a blocker of each place behind it that fits together with
 * all places between the two.  Such a place must be read again even if it is not
 * granted: it may have to wait for another blocker now. */
int hf_sq_wake_followers(struct hf_sq *sq, const char *line, uint64_t seq)
{
    sqlite3_stmt *query = hf_sq_db_bind(&sq->db, HF_SQ_BEHIND, line, seq);
    struct hf_sum between = { 0 };
    int           r;

    while ((r = hf_sq_db_step(&sq->db, query)) == 1) {
        struct hf_sq_row row;
        hf_sq_row_read(query, &row);
        if (!hf_sum_next(&between, &row.shape))
            break; /* and no place behind it fits either */
        r = row.granted == 0 ? hf_sq_wake_add(sq, row.sid, row.seq) : 0;
        if (r < 0)
            break;
    }
    sqlite3_reset(query);
    return r < 0 ? r : 0;
}

/* The places `left` are gone, or weigh less: grant the places that fit now, and wake
 * them. */
static int fill_room(struct hf_sq *sq, const char *line, const struct hf_sq_row *left,
                     size_t count)
{
    int r = hf_sq_total_open(sq, line);

    if (r == 0 && sq->total.waits > 0)
        r = grant_fitting(sq, line);
    for (size_t i = 0; r == 0 && sq->total.waits > 0 && i < count; i++)
        r = hf_sq_wake_followers(sq, line, left[i].seq);
    return r < 0 ? r : hf_sq_total_close(sq, line);
}

int hf_sq_fill_room(struct hf_sq *sq, const char *line, uint64_t seq)
{
    return fill_room(sq, line, &(struct hf_sq_row){ .seq = seq }, 1);
}

int hf_sq_sweep(struct hf_sq *sq, const char *line)
{
    int r = 0;

    for (size_t i = 0; r >= 0 && i < sq->dead.count; i++)
        r = remove_lost(sq, line, sq->dead.row[i].seq);
    return r < 0 ? r : fill_room(sq, line, sq->dead.row, sq->dead.count);
}
