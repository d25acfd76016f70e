/* db_open.c - opening a database, and making its tables; see db.h. */
#include "store/sqlite/db/db.h"
#include "store/sqlite/db/shm.h"
#include "store/sqlite/files/files.h"

#include "holdfast.h"
#include "store/sqlite/db/schema.sql.h"
#include "store/store.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define APPLICATION_ID 1215261796 /* as in schema.sql */

/* Pages in the log before a COMMIT writes it back. */
#define LOG_LONG 1000

/* Only other programs, such as the sqlite3 shell, ever make us wait inside SQLite. */
#define BUSY_TIMEOUT_MS 20

/* A user who shares the file can write anything to it, also SQL that SQLite would run
 * with our rights.  We have no triggers and no views, so we turn them off; we map
 * nothing that somebody could truncate (shm.c), and write nothing elsewhere (vfs.c). */
static void restrict_sqlite(struct hf_sq_db *db)
{
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    sqlite3_exec(db->handle,
                 "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; "
                 "PRAGMA temp_store = MEMORY; PRAGMA synchronous = NORMAL",
                 NULL, NULL, NULL);
}

static void set_up_handle(struct hf_sq_db *db)
{
    int chunk = HF_SQ_CHUNK;

    sqlite3_extended_result_codes(db->handle, 1);
    sqlite3_busy_timeout(db->handle, BUSY_TIMEOUT_MS);
    restrict_sqlite(db);
    /* Without a chunk size SQLite ignores SIZE_HINT (history.c). */
    sqlite3_file_control(db->handle, NULL, SQLITE_FCNTL_CHUNK_SIZE, &chunk);
    /* Checkpoints run in a COMMIT, under the write lock, and not when a handle is
     * closed. */
    sqlite3_wal_autocheckpoint(db->handle, LOG_LONG);
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
}

static int keep_text(void *ret, int count, char **value, char **name)
{
    char **text = ret;

    (void)count;
    (void)name;
    free(*text);
    *text = strdup(value[0] != NULL ? value[0] : "");
    return *text == NULL;
}

int hf_sq_db_ask(struct hf_sq_db *db, const char *query, char **ret)
{
    *ret = NULL;
    int rc = sqlite3_exec(db->handle, query, keep_text, ret, NULL);
    if (rc == SQLITE_ABORT) /* keep_text() had no memory */
        rc = SQLITE_NOMEM;
    return rc == SQLITE_OK ? 0 : hf_sq_db_fault(db, rc);
}

static int ask_number(struct hf_sq_db *db, const char *query, int64_t *ret)
{
    char *text;
    int   r = hf_sq_db_ask(db, query, &text);

    if (r == 0 && text != NULL)
        *ret = strtoll(text, NULL, 10);
    free(text);
    return r;
}

static int run_sql(struct hf_sq_db *db, const char *text)
{
    int rc = sqlite3_exec(db->handle, text, NULL, NULL, NULL);

    return rc == SQLITE_OK ? 0 : hf_sq_db_fault(db, rc);
}

/* 1 if `query`, a PRAGMA journal_mode, answers "wal". */
static int has_log(struct hf_sq_db *db, const char *query)
{
    char *mode;
    int   r = hf_sq_db_ask(db, query, &mode);

    if (r == 0)
        r = mode != NULL && strcmp(mode, "wal") == 0;
    free(mode);
    return r;
}

/* The file keeps this mode, unless another program changes it.  The change is of one
 * page, and needs no journal on the disk: others might write to that, or find it if we
 * are killed. */
static int use_log(struct hf_sq_db *db)
{
    int r = has_log(db, "PRAGMA journal_mode");
    if (r == 0)
        r = has_log(db, "PRAGMA journal_mode = MEMORY");
    if (r == 0)
        r = has_log(db, "PRAGMA journal_mode = WAL");
    if (r == 0)
        return hf_sq_db_fail(db, HF_EUNSUPPORTED,
                             "cannot have a write-ahead log where it is");
    return r < 0 ? r : 0;
}

static int check_kind(struct hf_sq_db *db)
{
    int64_t application = 0, version = 0, objects = 0;

    int r = ask_number(db, "PRAGMA application_id", &application);
    if (r == 0)
        r = ask_number(db, "PRAGMA user_version", &version);
    if (r == 0 && application == 0 && version == 0)
        r = ask_number(db, "SELECT count(*) FROM sqlite_schema", &objects);
    if (r < 0)
        return r;
    if (application == 0 && version == 0 && objects == 0)
        return HF_ENOTFOUND;
    if (application != APPLICATION_ID)
        return hf_sq_db_fail(db, HF_EUNSUPPORTED,
                             "is the database of another program; name another file");
    if (version > hf_sq_layout)
        return hf_sq_files_other_layout(db->path, (uint64_t)version, db->errmsg);
    return version < hf_sq_layout ? HF_SQ_OLDER : 0;
}

/* We have checked the file, and it must not be a link by now: another user of the
 * folder could make us, or root, open another file.  SQLITE_OPEN_NOFOLLOW refuses
 * links anywhere in the path, so we resolve the folder first. */
static int open_handle(struct hf_sq_db *db)
{
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE |
                SQLITE_OPEN_NOFOLLOW;
    const char *vfs = hf_sq_vfs();
    char        folder[HF_SQ_PATH], real[PATH_MAX], path[PATH_MAX + HF_SQ_PATH];

    hf_sq_folder_of(db->path, folder);
    if (vfs == NULL)
        return SQLITE_NOMEM;
    if (realpath(folder, real) == NULL)
        return errno == ENOMEM ? SQLITE_NOMEM : SQLITE_CANTOPEN;
    snprintf(path, sizeof path, "%s%s", real, strrchr(db->path, '/'));
    if (!hf_sq_path_fits(path)) {
        errno = ENAMETOOLONG;
        return SQLITE_CANTOPEN;
    }
    return sqlite3_open_v2(path, &db->handle, flags, vfs);
}

int hf_sq_db_open(struct hf_sq_db *db, const struct hf_sq_files *files, char *errmsg)
{
    *db = (struct hf_sq_db){ .path = files->db, .errmsg = errmsg };
    if (sqlite3_threadsafe() == 0)
        return hf_sq_db_fail(db, HF_EUNSUPPORTED, "needs an SQLite built for threads");
    int rc = open_handle(db);
    if (db->handle == NULL && rc != SQLITE_NOMEM)
        return hf_sq_files_fault(errno, "find the folder of", db->path, errmsg);
    if (db->handle == NULL)
        return hf_sq_db_fail(db, HF_ENOMEM, "could not be opened: out of memory");
    if (rc != SQLITE_OK)
        return hf_sq_db_fault(db, rc);
    hf_sq_shm_set_files(db->handle, files);
    set_up_handle(db);
    int r = check_kind(db);
    if (r != 0)
        return r;
    r = has_log(db, "PRAGMA journal_mode");
    if (r < 0)
        return r;
    return r == 1 ? 0 : HF_ENOTFOUND;
}

/* SQLite trusts that rows are in order, and does not find those that damage has put
 * elsewhere: a client would write its place where the next one does not look.  Few stores
 * have more than 256 places, and to look for so many takes 0.15 ms. */
int hf_sq_db_check(struct hf_sq_db *db)
{
    int64_t lost = 0;

    int r =
        ask_number(db,
                   "SELECT count(*) FROM (SELECT line, seq FROM place LIMIT 256) AS a "
                   "WHERE NOT EXISTS (SELECT 1 FROM place AS b "
                   "WHERE b.line = a.line AND b.seq = a.seq)",
                   &lost);
    return r < 0 || lost == 0 ? r : hf_sq_db_fault(db, SQLITE_CORRUPT);
}

/* Numbers must not come again, so the mark of an older layout is kept. */
static int make_tables(struct hf_sq_db *db, bool older)
{
    int64_t mark = 0;
    char    text[96], *drop = NULL;
    int     r = 0;

    if (older)
        r = ask_number(db, "SELECT hwm FROM meta", &mark);
    if (r == 0 && older)
        r = hf_sq_db_ask(db,
                         "SELECT group_concat(printf('DROP TABLE \"%w\";', name), '') "
                         "FROM sqlite_schema WHERE type = 'table'",
                         &drop);
    if (r == 0 && drop != NULL)
        r = run_sql(db, drop);
    free(drop);
    if (r == 0)
        r = run_sql(db, schema_sql);
    snprintf(text, sizeof text, "PRAGMA user_version = %d; UPDATE meta SET hwm = %lld",
             hf_sq_layout, (long long)mark);
    return r < 0 ? r : run_sql(db, text);
}

/* In one transaction, so another process that does the same has done it, or waits.
 * Our changes are of a row or two: with small pages there is less to write, and less
 * to read when the next client opens the log. */
int hf_sq_db_fill(struct hf_sq_db *db)
{
    int r = run_sql(db, "PRAGMA page_size = 1024");
    if (r == 0)
        r = use_log(db);
    if (r == 0)
        r = run_sql(db, "BEGIN IMMEDIATE");
    if (r < 0)
        return r;
    r = check_kind(db);
    if (r == HF_ENOTFOUND || r == HF_SQ_OLDER)
        r = make_tables(db, r == HF_SQ_OLDER);
    if (r == 0)
        r = run_sql(db, "COMMIT");
    if (r < 0) /* some failures have rolled back already */
        sqlite3_exec(db->handle, "ROLLBACK", NULL, NULL, NULL);
    return r;
}

void hf_sq_db_close(struct hf_sq_db *db)
{
    for (int i = 0; i < HF_SQ_QUERIES; i++)
        sqlite3_finalize(db->query[i]);
    int rc = sqlite3_close(db->handle);
    assert(rc == SQLITE_OK);
    (void)rc;
    *db = (struct hf_sq_db){ 0 };
}
