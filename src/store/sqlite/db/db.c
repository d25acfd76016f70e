/* db.c - the statements of the database, and its errors as ours. */
#include "store/sqlite/db/db.h"
#include "store/sqlite/db/shm.h"
#include "store/sqlite/files/files.h"

#include "holdfast.h"
#include "store/sqlite/db/queries.sql.h"
#include "store/store.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* ---- Errors ------------------------------------------------------------------ */

int hf_sq_db_fail(struct hf_sq_db *db, int code, const char *text)
{
    snprintf(db->errmsg, HF_ERRMSG_MAX, "%.140s %s", db->path, text);
    return code;
}

static int fail_by_errno(struct hf_sq_db *db, int rc)
{
    int error = hf_sq_size_limit_hit() ? EFBIG : sqlite3_system_errno(db->handle);

    if (rc == SQLITE_IOERR_SHORT_READ)
        return hf_sq_db_fail(
            db, HF_ESTORE,
            "has lost its -wal file while in use; end the processes that use it");
    if (error == 0 || error == ENOENT)
        return hf_sq_db_fail(db, HF_ESTORE, sqlite3_errmsg(db->handle));
    return hf_sq_files_fault(error, "use", db->path, db->errmsg);
}

int hf_sq_db_fault(struct hf_sq_db *db, int rc)
{
    switch (rc & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
        return hf_sq_db_fail(db, HF_EDOWN,
                             "is locked by another program; end its transaction");
    case SQLITE_FULL:
        return hf_sq_db_fail(db, HF_EFULL, "cannot grow: the disk is full; make room");
    case SQLITE_NOMEM:
        return hf_sq_db_fail(db, HF_ENOMEM, "could not be read: out of memory");
    case SQLITE_CORRUPT:
        return hf_sq_db_fail(db, HF_ECORRUPT,
                             "is damaged and was not changed. "
                             "Move it away once nobody uses it");
    case SQLITE_NOTADB:
        return hf_sq_db_fail(db, HF_ECORRUPT, "is not a database; name another file");
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return hf_sq_db_fail(db, HF_EDENIED, "cannot be written to");
    case SQLITE_CANTOPEN:
    case SQLITE_IOERR:
        return fail_by_errno(db, rc);
    default:
        return hf_sq_db_fail(db, HF_ESTORE, sqlite3_errmsg(db->handle));
    }
}

/* ---- Statements -------------------------------------------------------------- */

/* `;` at the end of a line ends a statement. */
static const char *text_of(enum hf_sq_query which)
{
    const char *text = queries_sql;

    for (enum hf_sq_query i = HF_SQ_BEGIN; i < which; i++) {
        text = strstr(text, ";\n");
        assert(text != NULL); /* enum hf_sq_query has no more entries than queries.sql */
        text += 2;
    }
    return text;
}

sqlite3_stmt *hf_sq_db_query(struct hf_sq_db *db, enum hf_sq_query which)
{
    if (db->query[which] == NULL)
        db->fault =
            sqlite3_prepare_v3(db->handle, text_of(which), -1, SQLITE_PREPARE_PERSISTENT,
                               &db->query[which], NULL);
    assert(db->query[which] != NULL || db->fault != SQLITE_OK);
    return db->query[which];
}

int hf_sq_db_step(struct hf_sq_db *db, sqlite3_stmt *query)
{
    if (query == NULL)
        return hf_sq_db_fault(db, db->fault);
    int rc = sqlite3_step(query);
    if (rc == SQLITE_ROW)
        return 1;
    sqlite3_reset(query);
    return rc == SQLITE_DONE ? 0 : hf_sq_db_fault(db, rc);
}

int hf_sq_db_run(struct hf_sq_db *db, enum hf_sq_query which)
{
    sqlite3_stmt *query = hf_sq_db_query(db, which);
    int           r;

    assert(sqlite3_bind_parameter_count(query) == 0);
    while ((r = hf_sq_db_step(db, query)) == 1)
        continue;
    return r;
}

int hf_sq_db_number(struct hf_sq_db *db, enum hf_sq_query which, uint64_t *ret)
{
    sqlite3_stmt *query = hf_sq_db_query(db, which);
    int           r = hf_sq_db_step(db, query);

    *ret = r == 1 ? (uint64_t)sqlite3_column_int64(query, 0) : 0;
    sqlite3_reset(query);
    return r < 0 ? r : 0;
}

int hf_sq_db_begin(struct hf_sq_db *db)
{
    hf_sq_shm_lock_early(db->handle);
    int r = hf_sq_db_run(db, HF_SQ_BEGIN);
    if (r < 0)
        hf_sq_shm_unlock_early(db->handle);
    return r;
}

int hf_sq_db_commit(struct hf_sq_db *db)
{
    for (int i = 0; i < HF_SQ_QUERIES; i++)
        assert(db->query[i] == NULL || !sqlite3_stmt_busy(db->query[i]));
    return hf_sq_db_run(db, HF_SQ_COMMIT);
}

sqlite3_stmt *hf_sq_db_bind(struct hf_sq_db *db, enum hf_sq_query which, const char *line,
                            uint64_t number)
{
    sqlite3_stmt *query = hf_sq_db_query(db, which);

    assert(!sqlite3_stmt_busy(query));
    if (query != NULL && line != NULL)
        sqlite3_bind_text(query, 1, line, -1, SQLITE_STATIC);
    if (sqlite3_bind_parameter_count(query) > 1)
        sqlite3_bind_int64(query, 2, (sqlite3_int64)number);
    return query;
}

/* Prepare the statements that end a transaction: they must not fail for lack of
 * memory. */
int hf_sq_db_prepare(struct hf_sq_db *db)
{
    const char *end = text_of(HF_SQ_QUERIES);

    assert(*end == '\0'); /* enum hf_sq_query has them all */
    (void)end;
    for (enum hf_sq_query i = HF_SQ_BEGIN; i <= HF_SQ_ROLLBACK; i++)
        if (hf_sq_db_query(db, i) == NULL)
            return hf_sq_db_fault(db, db->fault);
    return 0;
}
