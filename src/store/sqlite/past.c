/* past.c - what happens is written down, in the transaction in which it does; and HISTORY.
 *
 * Records must not cost locks for want of room.  A commit adds pages to the log, and SQLite finds
 * out whether the database can grow by as many when the log is written back.  If it cannot, the
 * log cannot be used anew either, and nobody gets a lock before there is room.  So the file is
 * made longer first.
 */
#include "store/sqlite/inner.h"

#include "base/grow.h"
#include "holdfast.h"
#include "store/param.h"

#include <assert.h>
#include <stdio.h>

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
static int trim_records(struct hf_sq *sq, uint64_t keep)
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

/* ---- Room ---------------------------------------------------------------------- */

/* Have the disk give `more` bytes, and let statements use them. */
static bool reserve(struct hf_sq_db *db, int64_t more)
{
    sqlite3_stmt *query = hf_sq_db_query(db, HF_SQ_PAGES);
    char          text[64];

    if (hf_sq_db_step(db, query) != 1)
        return false;
    int64_t size = sqlite3_column_int64(query, 1);
    int64_t pages = sqlite3_column_int64(query, 0) + more / size;
    sqlite3_reset(query);

    sqlite3_int64 bytes = pages * size;
    snprintf(text, sizeof text, "PRAGMA max_page_count = %lld", (long long)pages);
    return sqlite3_file_control(db->handle, NULL, SQLITE_FCNTL_SIZE_HINT, &bytes) ==
               SQLITE_OK &&
           sqlite3_exec(db->handle, text, NULL, NULL, NULL) == SQLITE_OK;
}

/* If it failed so that the whole transaction is undone, it must not be tried again. */
static bool is_only_full(const struct hf_sq_db *db, int r)
{
    return r == HF_EFULL && sqlite3_get_autocommit(db->handle) == 0;
}

/* Run a statement that is told to make do with the room that the file has, or can be given now:
 * so what it adds can be written back from the log whatever becomes of the disk.  HF_EFULL, and
 * nothing of it is done: it needs more.  For INSERT ... SELECT, which SQLite can undo alone. */
static int step_within(struct hf_sq_db *db, sqlite3_stmt *query)
{
    if (hf_sq_db_query(db, HF_SQ_THAW) == NULL) /* not when it is needed */
        return hf_sq_db_step(db, NULL);
    int r = hf_sq_db_run(db, HF_SQ_FREEZE);
    if (r == 0)
        r = hf_sq_db_step(db, query);
    for (int64_t more = HF_SQ_CHUNK; is_only_full(db, r) && reserve(db, more); more *= 2)
        r = hf_sq_db_step(db, query);
    hf_sq_db_run(db, HF_SQ_THAW);
    return r;
}

/* ---- Writing it down ----------------------------------------------------------- */

/* Old records make way for new ones, and if there are none left, what happens is not recorded. */
static int insert(struct hf_sq *sq, sqlite3_stmt *query, uint64_t *added)
{
    sqlite3 *handle = sq->db.handle;
    int      r;

    *added = 0;
    while ((r = step_within(&sq->db, query)) == HF_EFULL &&
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
    return last / PIECE != (last - added) / PIECE ? trim_records(sq, sq->head.kept) : 0;
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
    r = trim_records(sq, keep < sq->head.kept ? keep : sq->head.kept);
    sq->head.kept = keep;
    if (r == 0)
        r = hf_sq_write_head(sq);
    r = hf_sq_end(sq, r);
    if (r == 0) /* what was not recorded until now is not in what is from now on */
        hf_sq_survey_stir(sq);
    return r;
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
