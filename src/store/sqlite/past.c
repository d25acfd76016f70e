/* past.c - writing down what happens, in the transaction in which it does. */
#include "store/sqlite/inner.h"

#include "holdfast.h"

#include <assert.h>

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

static int record_row(struct hf_sq *sq, const char *line, const struct hf_sq_row *row,
                      const char *note, char what, const char *reason)
{
    struct hf_past past = {
        .time = hf_wall_us(),
        .what = row->granted != 0 ? what : of_waiter(what),
        .line = line,
        .token = row->seq,
        .shape = row->shape,
        .slot = row->slot,
        .note = note,
        .reason = reason,
    };

    return hf_sq_records_add(sq, &past);
}

int hf_sq_record_new(struct hf_sq *sq, const char *line, const struct hf_sq_row *row,
                     const char *note)
{
    char what = row->granted != 0 ? HF_PAST_GRANTED : HF_PAST_ENTERED;

    assert(sq->live.taken);
    if (sq->head.kept == 0)
        return 0;
    return record_row(sq, line, row, note != NULL ? note : "", what, "");
}

/* The tickets that a query tells, as LINE. */
static int record_all(struct hf_sq *sq, sqlite3_stmt *query, char what,
                      const char *reason)
{
    int r;

    while ((r = hf_sq_db_step(&sq->db, query)) == 1) {
        const char      *line = (const char *)sqlite3_column_text(query, 8);
        const char      *note = (const char *)sqlite3_column_text(query, 9);
        struct hf_sq_row row;
        hf_sq_row_read(query, &row);
        r = line != NULL && note != NULL ? record_row(sq, line, &row, note, what, reason)
                                         : hf_sq_fail(sq, HF_ENOMEM, "out of memory");
        if (r < 0)
            break;
    }
    sqlite3_reset(query);
    return r;
}

int hf_sq_record(struct hf_sq *sq, const char *line, uint64_t seq, char what,
                 const char *reason)
{
    assert(sq->live.taken);
    if (sq->head.kept == 0)
        return 0;
    return record_all(sq, hf_sq_db_bind(&sq->db, HF_SQ_PLACE, line, seq), what, reason);
}

/* Who holds knows all that is to be written, but for a slot. */
int hf_sq_record_leave(struct hf_sq *sq, const struct hf_sq_own *own)
{
    struct hf_sq_row row = {
        .seq = own->seq, .shape = own->shape, .granted = 1, .slot = -1
    };
    int r = 0;

    assert(sq->live.taken);
    if (sq->head.kept == 0)
        return 0;
    if (own->held && !own->untidy && own->note != NULL &&
        !hf_shape_has_slots(&own->shape))
        return record_row(sq, own->line, &row, own->note, HF_PAST_RELEASED, "");
    if (own->untidy)
        r = hf_sq_settle(sq, own->line, own->seq);
    return r < 0 ? r : hf_sq_record(sq, own->line, own->seq, HF_PAST_RELEASED, "");
}

int hf_sq_record_loss(struct hf_sq *sq, uint64_t sid)
{
    assert(sq->live.taken);
    if (sq->head.kept == 0)
        return 0;
    return record_all(sq, hf_sq_db_bind(&sq->db, HF_SQ_PLACES, NULL, sid), HF_PAST_LOST,
                      "");
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
