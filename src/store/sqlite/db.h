/* db.h - the database: opened, its statements, its errors in our words. */
#ifndef HF_SQLITE_DB_H
#define HF_SQLITE_DB_H

#include "store/sqlite/files.h"

#include <sqlite3.h>
#include <stdint.h>

/* As in queries.sql. */
enum hf_sq_query {
    HF_SQ_BEGIN,
    HF_SQ_COMMIT,
    HF_SQ_ROLLBACK,
    HF_SQ_MARK,
    HF_SQ_ADVANCE,
    HF_SQ_ENTER,
    HF_SQ_REMOVE,
    HF_SQ_GRANT,
    HF_SQ_AMEND,
    HF_SQ_LAST,
    HF_SQ_SET_SUM,
    HF_SQ_SUM,
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
    HF_SQ_RECORD,
    HF_SQ_RECORD_ALL,
    HF_SQ_LATEST,
    HF_SQ_TRIM,
    HF_SQ_BLANK,
    HF_SQ_RECALL,
    HF_SQ_HALVE,
    HF_SQ_PAGES,
    HF_SQ_FREEZE,
    HF_SQ_THAW,
    HF_SQ_QUERIES, /* how many there are */
};

struct hf_sq_db {
    sqlite3      *handle;               /* NULL: not open */
    sqlite3_stmt *query[HF_SQ_QUERIES]; /* NULL: not needed so far */
    int           fault;  /* of SQLite: why the last could not be prepared */
    const char   *path;   /* lent, for messages */
    char         *errmsg; /* lent: HF_ERRMSG_MAX bytes, about the last failure */
};

/* Say what failed: `text` behind the path, or what SQLite's code means.  The code of ours. */
int hf_sq_db_fail(struct hf_sq_db *db, int code, const char *text);
int hf_sq_db_fault(struct hf_sq_db *db, int rc);

/* Open an existing file.  HF_ENOTFOUND: it is a database without our tables, or without its
 * log; HF_SQ_OLDER: with the tables of an older layout.  hf_sq_db_fill() makes what is missing,
 * or all anew but for the mark (with the gate taken), then prepare().  `files` are lent until it
 * is closed. */
#define HF_SQ_OLDER 1
int  hf_sq_db_open(struct hf_sq_db *db, const struct hf_sq_files *files, char *errmsg);
int  hf_sq_db_fill(struct hf_sq_db *db);
int  hf_sq_db_prepare(struct hf_sq_db *db);
void hf_sq_db_close(struct hf_sq_db *db);

/* The statement, prepared when it is needed first: that takes longer than to run it once.
 * NULL: it could not be; hf_sq_db_step() says why. */
sqlite3_stmt *hf_sq_db_query(struct hf_sq_db *db, enum hf_sq_query which);

/* The same, with text (unless NULL) as ?1 and a number as ?2: what most of them take. */
sqlite3_stmt *hf_sq_db_bind(struct hf_sq_db *db, enum hf_sq_query which, const char *line,
                            uint64_t number);

/* Step once: 1 for a row, 0 when done, or an error.  Unless it is 1 the
 * statement is reset; reset it yourself when you want no more rows. */
int hf_sq_db_step(struct hf_sq_db *db, sqlite3_stmt *query);

/* The database grows by so many bytes at once. */
#define HF_SQ_CHUNK 16384

/* Run a statement without arguments or rows. */
int hf_sq_db_run(struct hf_sq_db *db, enum hf_sq_query which);

/* The last text that SQL of any kind answers with, to be freed; NULL: it says nothing. */
int hf_sq_db_ask(struct hf_sq_db *db, const char *query, char **ret);

/* The number that a statement without arguments tells; 0 if there is none. */
int hf_sq_db_number(struct hf_sq_db *db, enum hf_sq_query which, uint64_t *ret);

/* A transaction that writes.  No other statement is being stepped at either end. */
int hf_sq_db_begin(struct hf_sq_db *db);
int hf_sq_db_commit(struct hf_sq_db *db);

#endif
