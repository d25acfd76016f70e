/* history.c - adding history entries, in the transaction of the change; and HISTORY.
 *
 * History must not cost locks on a full disk.  A commit adds pages to the log, and only
 * the checkpoint finds out whether the database can grow by as many.  If it cannot, the
 * log cannot be reused either, and nobody gets a lock until there is room.  So we grow
 * the file first.
 */
#include "store/sqlite/history/history.h"
#include "store/sqlite/db/db.h"
#include "store/sqlite/inner.h"
#include "store/sqlite/line/line.h"
#include "store/sqlite/link.h"

#include "base/grow.h"
#include "holdfast.h"
#include "store/param.h"

#include <assert.h>
#include <stdio.h>

/* Old entries are removed this many at a time, which costs less than one by one.  So
 * the table has a few more rows than HISTORY returns. */
#define TRIM_COUNT 64

static bool is_history_kept(const struct hf_sq *sq)
{
    assert(sq->live.locked);
    return sq->header.kept != 0;
}

/* The same thing, if it happens to a place that waits. */
static char of_waiter(char what)
{
    switch (what) {
    case HF_HISTORY_RELEASED:
    case HF_HISTORY_LOST:
    case HF_HISTORY_BROKEN:
        return HF_HISTORY_LEFT;
    default:
        return what;
    }
}

/* Remove old entries.  The last row stays for its number, as the next one counts on
 * from it; if none is to be kept, without its texts. */
static int trim_entries(struct hf_sq *sq, uint64_t keep)
{
    uint64_t last = 0;

    assert(sq->live.locked);
    int r = hf_sq_db_number(&sq->db, HF_SQ_LATEST, &last);
    if (r < 0 || last == 0)
        return r;
    uint64_t end = keep == 0 ? last - 1 : last > keep ? last - keep : 0;
    r = hf_sq_db_step(&sq->db, hf_sq_db_bind(&sq->db, HF_SQ_TRIM, NULL, end));
    if (r == 0 && keep == 0)
        r = hf_sq_db_run(&sq->db, HF_SQ_BLANK);
    return r;
}

/* ---- Room on the disk -------------------------------------------------------- */

/* Allocate `more` bytes on the disk, and let statements use them. */
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

/* If SQLite has rolled back the whole transaction, the statement must not be retried. */
static bool is_only_full(const struct hf_sq_db *db, int r)
{
    return r == HF_EFULL && sqlite3_get_autocommit(db->handle) == 0;
}

/* Run a statement within the room that the file has, or that we can allocate now: so a
 * checkpoint of its pages succeeds even on a full disk.  HF_EFULL: it needs more, and
 * had no effect.  For INSERT ... SELECT, which SQLite can undo without the rest of the
 * transaction. */
static int step_within(struct hf_sq_db *db, sqlite3_stmt *query)
{
    if (hf_sq_db_query(db, HF_SQ_THAW) == NULL) /* later it must not fail */
        return hf_sq_db_step(db, NULL);
    int r = hf_sq_db_run(db, HF_SQ_FREEZE);
    if (r == 0)
        r = hf_sq_db_step(db, query);
    for (int64_t more = HF_SQ_CHUNK; is_only_full(db, r) && reserve(db, more); more *= 2)
        r = hf_sq_db_step(db, query);
    hf_sq_db_run(db, HF_SQ_THAW);
    return r;
}

/* ---- Adding entries ---------------------------------------------------------- */

/* Without room, half of the old entries go; if none is left, no entry is added. */
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

/* An entry for each place that the query finds: see queries.sql. */
static int add_entries(struct hf_sq *sq, sqlite3_stmt *query, char what,
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
    return last / TRIM_COUNT != (last - added) / TRIM_COUNT
               ? trim_entries(sq, sq->header.kept)
               : 0;
}

int hf_sq_history_add(struct hf_sq *sq, const char *line, uint64_t seq, char what,
                      const char *reason)
{
    if (!is_history_kept(sq))
        return 0;
    return add_entries(sq, hf_sq_db_bind(&sq->db, HF_SQ_ADD_ENTRY, line, seq), what,
                       reason);
}

int hf_sq_history_add_loss(struct hf_sq *sq, uint64_t sid)
{
    if (!is_history_kept(sq))
        return 0;
    return add_entries(sq, hf_sq_db_bind(&sq->db, HF_SQ_ADD_ENTRIES, NULL, sid),
                       HF_HISTORY_LOST, "");
}

/* ---- How much is kept -------------------------------------------------------- */

int hf_sq_history_read(struct hf_sq *sq, const struct hf_config *config)
{
    sq->keep = -1;
    if (config->key != NULL) /* such a store only ends a session */
        return 0;
    return hf_param_history(config, &sq->keep, sq->base.errmsg);
}

static int change_kept(struct hf_sq *sq, uint64_t keep)
{
    int r = hf_sq_begin(sq);
    if (r < 0)
        return r;
    /* Entries that were not to be kept until now do not come back in a longer history. */
    r = trim_entries(sq, keep < sq->header.kept ? keep : sq->header.kept);
    sq->header.kept = keep;
    if (r == 0)
        r = hf_sq_write_header(sq);
    r = hf_sq_end(sq, r);
    if (r == 0) /* from now on, or until now, the history does not have all changes */
        hf_sq_watch_store_touch(sq);
    return r;
}

int hf_sq_history_set(struct hf_sq *sq)
{
    if (sq->keep < 0)
        return 0;
    int r = HF_SQ_STALE;
    if (hf_sq_is_current(sq)) {
        bool same = sq->header.kept == (uint64_t)sq->keep;
        r = same ? 0 : change_kept(sq, (uint64_t)sq->keep);
    }
    if (r == HF_SQ_STALE)
        r = hf_sq_fail(sq, HF_EDOWN, "%.160s was replaced", sq->files.db);
    return r;
}

/* ---- HISTORY ----------------------------------------------------------------- */

static int fail_no_history(struct hf_sq *sq)
{
    return hf_sq_fail(sq, HF_ENOTFOUND,
                      "no history is kept here; `holdfast history --keep 1000` "
                      "turns it on");
}

static int read_entry(struct hf_sq *sq, sqlite3_stmt *query, size_t count)
{
    struct hf_history_row *grown =
        hf_grow(sq->entries, &sq->entries_room, count + 1, sizeof *grown);

    if (grown == NULL)
        return hf_sq_fail(sq, HF_ENOMEM, "out of memory");
    sq->entries = grown;
    grown[count] = (struct hf_history_row){
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

/* An entry that is added meanwhile is returned, too: then it is the last. */
static int read_entries(struct hf_sq *sq, struct hf_req *req)
{
    uint64_t last = 0, kept = sq->header.kept;
    size_t   count = 0;

    int r = hf_sq_db_number(&sq->db, HF_SQ_LATEST, &last);
    if (r < 0)
        return r;
    uint64_t after = req->stamp <= last ? req->stamp : 0; /* else it is of another file */
    if (last > kept && after < last - kept)
        after = last - kept;
    hf_sq_forget_texts(sq);
    sqlite3_stmt *query = hf_sq_db_bind(&sq->db, HF_SQ_READ_HISTORY,
                                        req->name != NULL ? req->name : "", after);
    while ((r = hf_sq_db_step(&sq->db, query)) == 1 &&
           (r = read_entry(sq, query, count)) == 0)
        count++;
    sqlite3_reset(query);
    if (r < 0)
        return r;
    if (count > 0 && sq->entries[count - 1].number > last)
        last = sq->entries[count - 1].number;
    req->entry = sq->entries;
    req->entries = count;
    req->stamp = last;
    return 0;
}

/* A file that nobody has made yet will keep one. */
static int read_nothing(struct hf_req *req)
{
    req->entry = NULL;
    req->entries = 0;
    req->stamp = 0;
    return 0;
}

/* First sweep, so that the loss of dead clients is in the history. */
int hf_sq_history(struct hf_sq *sq, struct hf_req *req)
{
    int r = hf_sq_connect(sq, false);
    if (r == HF_ENOTFOUND)
        return sq->keep == 0 ? fail_no_history(sq) : read_nothing(req);
    if (r < 0)
        return r;
    if (!hf_sq_is_current(sq))
        return HF_SQ_STALE;
    if (sq->header.kept == 0)
        return fail_no_history(sq);
    r = hf_sq_sweep_now(sq, req->name);
    if (r == HF_SQ_STALE || r == HF_SQ_LOCKED)
        return r; /* after other failures the entries that are there are still true */
    return read_entries(sq, req);
}
