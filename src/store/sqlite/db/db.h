/* db.h - the database: opening it, its statements, and transactions under the write
 * lock. */
#ifndef HF_SQLITE_DB_H
#define HF_SQLITE_DB_H

#include "base/clock.h"
#include "store/sqlite/files/files.h"

#include <sqlite3.h>
#include <stdint.h>

struct hf_sq;

/* In the order of queries.sql. */
enum hf_sq_query {
    HF_SQ_BEGIN,
    HF_SQ_COMMIT,
    HF_SQ_ROLLBACK,
    HF_SQ_MARK,
    HF_SQ_ADVANCE,
    HF_SQ_ENTER,
    HF_SQ_REMOVE,
    HF_SQ_GRANT,
    HF_SQ_DOWNGRADE,
    HF_SQ_LAST,
    HF_SQ_SET_TOTAL,
    HF_SQ_COUNT_TOTAL,
    HF_SQ_ONE,
    HF_SQ_AHEAD,
    HF_SQ_BEHIND,
    HF_SQ_LINE,
    HF_SQ_ALL,
    HF_SQ_COUNT,
    HF_SQ_ASKED,
    HF_SQ_ASK,
    HF_SQ_UNASK,
    HF_SQ_END,
    HF_SQ_CHANGED,
    HF_SQ_SESSIONS,
    HF_SQ_ADD_ENTRY,
    HF_SQ_ADD_ENTRIES,
    HF_SQ_LATEST,
    HF_SQ_TRIM,
    HF_SQ_BLANK,
    HF_SQ_READ_HISTORY,
    HF_SQ_HALVE,
    HF_SQ_PAGES,
    HF_SQ_FREEZE,
    HF_SQ_THAW,
    HF_SQ_QUERIES, /* how many there are */
};

struct hf_sq_db {
    sqlite3      *handle;               /* NULL: not open */
    sqlite3_stmt *query[HF_SQ_QUERIES]; /* NULL: not needed so far */
    int           fault;  /* SQLite's code: why the last could not be prepared */
    const char   *path;   /* lent, for messages */
    char         *errmsg; /* lent: HF_ERRMSG_MAX bytes, about the last failure */
};

/* ---- write.c: transactions --------------------------------------------------- */

/* Take the write lock.  HF_SQ_LOCKED: another process has it; retry the request later.
 * HF_EDOWN: that process must have been stopped. */
int hf_sq_write_lock(struct hf_sq *sq);

/* How long to wait before the next attempt. */
hf_time hf_sq_write_lock_pause(const struct hf_sq *sq);

/* begin() takes the write lock; commit() and abort() release it.  commit() also sends
 * the wake-ups; if it fails, it has aborted.  end() commits if `r`, the result so far,
 * is 0. */
int  hf_sq_begin(struct hf_sq *sq);
int  hf_sq_commit(struct hf_sq *sq);
void hf_sq_abort(struct hf_sq *sq);
int  hf_sq_end(struct hf_sq *sq, int r);

/* Draw the number of a new place: 1; or 0 if the mark must be raised first, which
 * begin() with a number does. */
int hf_sq_number_draw(struct hf_sq *sq, uint64_t *ret);
int hf_sq_begin_with_number(struct hf_sq *sq, uint64_t *ret);

/* Write sq->header to PATH-live, under the write lock. */
int hf_sq_write_header(struct hf_sq *sq);

/* Write the log back to the database; otherwise a COMMIT does so when the log is
 * long.  `last`: before closing, unless the log is short, so that the next client has
 * little to read. */
void hf_sq_checkpoint(struct hf_sq *sq, bool last);

/* ---- db_open.c --------------------------------------------------------------- */

/* Open an existing file.  HF_ENOTFOUND: a database without our tables, or without its
 * log; HF_SQ_OLDER: one of an older layout.  Then fill(), under the write lock, makes
 * what is missing, or replaces all tables but keeps the mark.  prepare() comes last.
 * `files` is lent until the database is closed. */
#define HF_SQ_OLDER 1
int hf_sq_db_open(struct hf_sq_db *db, const struct hf_sq_files *files, char *errmsg);
int hf_sq_db_fill(struct hf_sq_db *db);
int hf_sq_db_prepare(struct hf_sq_db *db);
/* Are places found by their numbers?  HF_ECORRUPT: not all of them. */
int  hf_sq_db_check(struct hf_sq_db *db);
void hf_sq_db_close(struct hf_sq_db *db);

/* The last text that any SQL returns, to be freed; NULL: it returns nothing. */
int hf_sq_db_ask(struct hf_sq_db *db, const char *query, char **ret);

/* ---- db.c -------------------------------------------------------------------- */

/* Write a message, `text` behind the path or what SQLite's code means, and return our
 * code. */
int hf_sq_db_fail(struct hf_sq_db *db, int code, const char *text);
int hf_sq_db_fault(struct hf_sq_db *db, int rc);

/* The statement, prepared when it is first needed: that takes longer than running it
 * once.  NULL: it could not be prepared; hf_sq_db_step() says why. */
sqlite3_stmt *hf_sq_db_query(struct hf_sq_db *db, enum hf_sq_query which);

/* The same, with text (unless NULL) as ?1 and a number as ?2: what most of them take. */
sqlite3_stmt *hf_sq_db_bind(struct hf_sq_db *db, enum hf_sq_query which, const char *line,
                            uint64_t number);

/* Step once: 1 for a row, 0 when done, or an error.  Unless it returns 1 the statement
 * is reset; reset it yourself when you want no more rows. */
int hf_sq_db_step(struct hf_sq_db *db, sqlite3_stmt *query);

/* The database grows by this many bytes at once. */
#define HF_SQ_CHUNK 16384

/* Run a statement without arguments, and ignore its rows. */
int hf_sq_db_run(struct hf_sq_db *db, enum hf_sq_query which);

/* The number that a statement without arguments returns; 0 if there is none. */
int hf_sq_db_number(struct hf_sq_db *db, enum hf_sq_query which, uint64_t *ret);

/* A transaction that writes.  No other statement is being stepped at either end. */
int hf_sq_db_begin(struct hf_sq_db *db);
int hf_sq_db_commit(struct hf_sq_db *db);

/* ---- vfs.c ------------------------------------------------------------------- */

/* The name of our VFS for sqlite3_open_v2(): "unix", which can reach only the database
 * and its log.  NULL: this SQLite has no "unix", or there is no memory. */
const char *hf_sq_vfs(void);

#endif
