/* history.c - HISTORY: what happened, as far as it is kept; and how much that is. */
#include "store/sqlite/inner.h"

#include "base/grow.h"
#include "holdfast.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- How much is kept ----------------------------------------------------------- */

int hf_sq_history_read(struct hf_sq *sq, const struct hf_config *config)
{
    const char *text = hf_config_get(config, "history");

    sq->keep = -1;
    if (text == NULL || config->will != NULL) /* who executes a will does only that */
        return 0;
    size_t length = strlen(text);
    long   number = strtol(text, NULL, 10);
    if (length == 0 || length > 6 || strspn(text, "0123456789") != length ||
        number > HF_SQ_KEPT_MAX)
        return hf_sq_fail(sq, HF_EINVAL,
                          "store URL: history=%.40s: write how many records to keep, from "
                          "0 (none) to %d",
                          text, HF_SQ_KEPT_MAX);
    sq->keep = (int)number;
    return 0;
}

/* How many are kept, and the number of the last one. */
static int read_kept(struct hf_sq *sq, uint64_t *kept, uint64_t *last)
{
    sqlite3_stmt *query = hf_sq_db_query(&sq->db, HF_SQ_KEPT);

    int r = hf_sq_db_step(&sq->db, query);
    if (r == 0)
        return hf_sq_fail(sq, HF_ECORRUPT, "%.160s does not say how much of its history "
                                           "is kept",
                          sq->files.db);
    if (r < 0)
        return r;
    int64_t number = sqlite3_column_int64(query, 0), end = sqlite3_column_int64(query, 1);
    *kept = number > 0 && number <= HF_SQ_KEPT_MAX ? (uint64_t)number : 0;
    *last = end > 0 ? (uint64_t)end : 0;
    sqlite3_reset(query);
    return 0;
}

/* Inside a transaction.  Of what is forgotten the last number stays, in a row that says
 * nothing: numbers never come again. */
static int write_kept(struct hf_sq *sq, uint64_t keep)
{
    uint64_t kept, last;

    int r = read_kept(sq, &kept, &last);
    if (r == 0 && kept != keep)
        r = hf_sq_db_step(&sq->db, hf_sq_db_bind(&sq->db, HF_SQ_KEEP, NULL, keep));
    uint64_t stay = keep > 0 ? keep : 1;
    if (r == 0 && last > stay)
        r = hf_sq_db_step(&sq->db,
                          hf_sq_db_bind(&sq->db, HF_SQ_TRIM, NULL, last - stay));
    if (r == 0 && keep == 0)
        r = hf_sq_db_run(&sq->db, HF_SQ_BLANK);
    return r < 0 ? r : hf_sq_db_run(&sq->db, HF_SQ_COMMIT);
}

/* The head says so too, where those who change lines see it for free. */
static int change_kept(struct hf_sq *sq, uint64_t keep)
{
    int r = hf_sq_begin(sq);
    if (r < 0)
        return r;
    r = write_kept(sq, keep);
    sq->head.kept = keep;
    if (r == 0 && !hf_sq_head_write(&sq->live, &sq->head))
        r = hf_sq_fail(sq, HF_EFULL, "cannot write to %.160s", sq->files.live);
    hf_sq_abort(sq); /* if it is committed, that only opens the gate */
    return r;
}

int hf_sq_history_set(struct hf_sq *sq)
{
    if (sq->keep < 0)
        return 0;
    int r = HF_SQ_STALE;
    if (hf_sq_current(sq)) {
        bool known = sq->head.boot == sq->boot && sq->head.kept == (uint64_t)sq->keep;
        r = known ? 0 : change_kept(sq, (uint64_t)sq->keep);
    }
    if (r == HF_SQ_STALE)
        r = hf_sq_fail(sq, HF_EDOWN, "%.160s was replaced", sq->files.db);
    return r;
}

/* ---- HISTORY -------------------------------------------------------------------- */

static int read_past(struct hf_sq *sq, sqlite3_stmt *query, size_t count)
{
    struct hf_past *grown = hf_grow(sq->past, &sq->past_room, count + 1, sizeof *grown);
    int64_t         what = sqlite3_column_int64(query, 2);

    if (grown == NULL)
        return hf_sq_fail(sq, HF_ENOMEM, "out of memory");
    sq->past = grown;
    sq->past[count] = (struct hf_past){
        .number = (uint64_t)sqlite3_column_int64(query, 0),
        .time = sqlite3_column_int64(query, 1),
        .what = what > 0 && what < 128 ? (char)what : '?',
        .line = hf_sq_keep_text(sq, sqlite3_column_text(query, 3)),
        .token = (uint64_t)sqlite3_column_int64(query, 4),
        .shape =
            hf_shape_read(sqlite3_column_int64(query, 5), sqlite3_column_int64(query, 6),
                          sqlite3_column_int64(query, 7) != 0),
        .slot = sqlite3_column_int(query, 8),
        .note = hf_sq_keep_text(sq, sqlite3_column_text(query, 9)),
        .reason = hf_sq_keep_text(sq, sqlite3_column_text(query, 10)),
    };
    if (grown[count].line == NULL || grown[count].note == NULL ||
        grown[count].reason == NULL)
        return hf_sq_fail(sq, HF_ENOMEM, "out of memory");
    return 0;
}

/* Those with numbers above `after`, up to `last`. */
static int answer_past(struct hf_sq *sq, struct hf_req *req, uint64_t after,
                       uint64_t last)
{
    sqlite3_stmt *query = hf_sq_db_bind(&sq->db, HF_SQ_PAST, req->name, after);
    size_t        count = 0;
    int           r = 0;

    if (req->name == NULL)
        sqlite3_bind_null(query, 1);
    sqlite3_bind_int64(query, 3, (sqlite3_int64)last);
    hf_sq_forget_texts(sq);
    while (after < last && (r = hf_sq_db_step(&sq->db, query)) == 1) {
        r = read_past(sq, query, count);
        if (r < 0)
            break;
        count++;
    }
    sqlite3_reset(query);
    if (r < 0)
        return r;
    req->past = sq->past;
    req->pasts = count;
    req->stamp = last;
    return 0;
}

static int say_no_history(struct hf_sq *sq)
{
    return hf_sq_fail(sq, HF_ENOTFOUND,
                      "no history is kept here; open the store once with ?history=1000");
}

/* Those who died and were not met by anybody are met now. */
int hf_sq_history(struct hf_sq *sq, struct hf_req *req)
{
    uint64_t kept = 0, last = 0;

    int r = hf_sq_connect(sq, false);
    if (r < 0)
        return r == HF_ENOTFOUND ? say_no_history(sq) : r;
    if (!hf_sq_current(sq))
        return HF_SQ_STALE;
    r = read_kept(sq, &kept, &last);
    if (r < 0 || kept == 0)
        return r < 0 ? r : say_no_history(sq);
    r = hf_sq_sweep_now(sq, req->name);
    if (r == HF_SQ_STALE || r == HF_SQ_SHUT)
        return r; /* of other failures: what is written is true */
    r = read_kept(sq, &kept, &last);
    if (r < 0)
        return r;
    uint64_t oldest = last > kept ? last - kept : 0;
    return answer_past(sq, req, req->stamp > oldest ? req->stamp : oldest, last);
}
