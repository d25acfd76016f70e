/* room.c - statements that must not need more room than the disk has; see db.h.
 *
 * A commit adds pages to the log, and SQLite finds out whether the database can grow by as many
 * when the log is written back.  If it cannot, the log cannot be used anew either, and nobody
 * gets a lock before there is room.  So the file is made longer first.
 */
#include "store/sqlite/db.h"

#include "holdfast.h"

#include <stdio.h>

/* The file grows by so many bytes at once. */
#define CHUNK 16384

/* Without it SQLite takes no hint about the size.  It also keeps a file at a multiple of it. */
void hf_sq_db_set_chunk(struct hf_sq_db *db)
{
    int chunk = CHUNK;

    sqlite3_file_control(db->handle, NULL, SQLITE_FCNTL_CHUNK_SIZE, &chunk);
}

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

int hf_sq_db_step_within(struct hf_sq_db *db, sqlite3_stmt *query)
{
    if (hf_sq_db_query(db, HF_SQ_THAW) == NULL) /* not when it is needed */
        return hf_sq_db_step(db, NULL);
    int r = hf_sq_db_run(db, HF_SQ_FREEZE);
    if (r == 0)
        r = hf_sq_db_step(db, query);
    for (int64_t more = CHUNK; is_only_full(db, r) && reserve(db, more); more *= 2)
        r = hf_sq_db_step(db, query);
    hf_sq_db_run(db, HF_SQ_THAW);
    return r;
}
