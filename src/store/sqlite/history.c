/* history.c - HISTORY: what happened, as far as it is kept; and how much that is. */
#include "store/sqlite/inner.h"

#include "base/grow.h"
#include "holdfast.h"
#include "store/param.h"

#include <assert.h>

/* ---- How much is kept ----------------------------------------------------------- */

int hf_sq_history_read(struct hf_sq *sq, const struct hf_config *config)
{
    sq->keep = -1;
    if (config->will != NULL) /* who executes a will does only that */
        return 0;
    return hf_param_history(config, &sq->keep, sq->base.errmsg);
}

static int change_kept(struct hf_sq *sq, uint64_t keep)
{
    int r = hf_sq_begin(sq);
    if (r < 0)
        return r;
    /* What was not to be kept so far is not told by a longer history either. */
    r = hf_sq_records_trim(sq, keep < sq->head.kept ? keep : sq->head.kept);
    sq->head.kept = keep;
    if (r == 0)
        r = hf_sq_write_head(sq);
    return hf_sq_end(sq, r);
}

int hf_sq_history_set(struct hf_sq *sq)
{
    if (sq->keep < 0)
        return 0;
    int r = HF_SQ_STALE;
    if (hf_sq_current(sq)) {
        bool same = sq->head.kept == (uint64_t)sq->keep;
        r = same ? 0 : change_kept(sq, (uint64_t)sq->keep);
    }
    if (r == HF_SQ_STALE)
        r = hf_sq_fail(sq, HF_EDOWN, "%.160s was replaced", sq->files.db);
    return r;
}

/* ---- HISTORY -------------------------------------------------------------------- */

static int say_no_history(struct hf_sq *sq)
{
    return hf_sq_fail(sq, HF_ENOTFOUND,
                      "no history is kept here; `holdfast history --keep 1000` "
                      "turns it on");
}

static int add_past(struct hf_sq *sq, sqlite3_stmt *query, size_t count)
{
    struct hf_past *grown = hf_grow(sq->past, &sq->past_room, count + 1, sizeof *grown);

    if (grown == NULL)
        return hf_sq_fail(sq, HF_ENOMEM, "out of memory");
    sq->past = grown;
    grown[count] = (struct hf_past){
        .number = (uint64_t)sqlite3_column_int64(query, 0),
        .time = sqlite3_column_int64(query, 1),
        .what = (char)sqlite3_column_int(query, 2),
        .line = hf_sq_keep_text(sq, sqlite3_column_text(query, 3)),
        .token = (uint64_t)sqlite3_column_int64(query, 4),
        .shape =
            hf_shape_read(sqlite3_column_int64(query, 5), sqlite3_column_int64(query, 6),
                          sqlite3_column_int(query, 7) != 0),
        .slot = sqlite3_column_int(query, 8),
        .note = hf_sq_keep_text(sq, sqlite3_column_text(query, 9)),
        .reason = hf_sq_keep_text(sq, sqlite3_column_text(query, 10)),
    };
    if (grown[count].line == NULL || grown[count].note == NULL ||
        grown[count].reason == NULL)
        return hf_sq_fail(sq, HF_ENOMEM, "out of memory");
    return 0;
}

/* One that is written meanwhile is told as well: then it is the last. */
static int recall(struct hf_sq *sq, struct hf_req *req)
{
    uint64_t last = 0, kept = sq->head.kept;
    size_t   count = 0;

    int r = hf_sq_db_number(&sq->db, HF_SQ_LATEST, &last);
    if (r < 0)
        return r;
    uint64_t after = req->stamp <= last ? req->stamp : 0; /* else it is another file's */
    if (last > kept && after < last - kept)
        after = last - kept;
    hf_sq_forget_texts(sq);
    sqlite3_stmt *query =
        hf_sq_db_bind(&sq->db, HF_SQ_RECALL, req->name != NULL ? req->name : "", after);
    while ((r = hf_sq_db_step(&sq->db, query)) == 1 &&
           (r = add_past(sq, query, count)) == 0)
        count++;
    sqlite3_reset(query);
    if (r < 0)
        return r;
    if (count > 0 && sq->past[count - 1].number > last)
        last = sq->past[count - 1].number;
    req->past = sq->past;
    req->pasts = count;
    req->stamp = last;
    return 0;
}

/* Those who died and were not met by anybody are met now. */
int hf_sq_history(struct hf_sq *sq, struct hf_req *req)
{
    int r = hf_sq_connect(sq, false);
    if (r < 0)
        return r == HF_ENOTFOUND ? say_no_history(sq) : r;
    if (!hf_sq_current(sq))
        return HF_SQ_STALE;
    if (sq->head.kept == 0)
        return say_no_history(sq);
    r = hf_sq_sweep_now(sq, req->name);
    if (r == HF_SQ_STALE || r == HF_SQ_SHUT)
        return r; /* of other failures: what is written is true */
    return recall(sq, req);
}
