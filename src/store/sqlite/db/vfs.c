/* vfs.c - our VFS: SQLite can reach only the database and its log.
 *
 * SQLite trusts its files.  It plays back a rollback journal beside a database, and opens
 * and then removes the file that the journal names as its super-journal, wherever that
 * is.  So a user who shares a store could make other users, or root, remove any of their
 * files.
 *
 * Our databases have a write-ahead log, and never a journal.  So SQLite can open, find
 * and remove nothing but the database and its log; shm.c has the shared memory beside
 * them.
 */
#include "store/sqlite/db/db.h"
#include "store/sqlite/db/shm.h"

#include <assert.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define LOG "-wal" /* what SQLite adds to the path of the database */

static const sqlite3_vfs *usual; /* "unix" */
static sqlite3_vfs        ours;  /* a copy of it, with our functions */
static char               ours_name[32];
static pthread_once_t     once = PTHREAD_ONCE_INIT;

static bool is_log(const char *path)
{
    size_t length = strlen(path), end = strlen(LOG);

    return length > end && strcmp(path + length - end, LOG) == 0;
}

static int open_db_or_log(sqlite3_vfs *vfs, const char *path, sqlite3_file *file,
                          int flags, int *ret)
{
    bool db = (flags & SQLITE_OPEN_MAIN_DB) != 0;
    bool log = (flags & SQLITE_OPEN_WAL) != 0 && path != NULL && is_log(path);

    file->pMethods = NULL; /* nothing to close */
    if (path == NULL || (!db && !log))
        return SQLITE_CANTOPEN;
    int rc = usual->xOpen(vfs, path, file, flags, ret);
    if (rc == SQLITE_OK && db)
        hf_sq_shm_wrap(file);
    return rc;
}

static int remove_log(sqlite3_vfs *vfs, const char *path, int sync_folder)
{
    return is_log(path) ? usual->xDelete(vfs, path, sync_folder) : SQLITE_IOERR_DELETE;
}

/* With every opening SQLite asks whether there is a journal. */
static int find_log(sqlite3_vfs *vfs, const char *path, int flags, int *ret)
{
    *ret = 0;
    return is_log(path) ? usual->xAccess(vfs, path, flags, ret) : SQLITE_OK;
}

/* Two copies of this library may be in one process, so each needs a name of its own. */
static void register_ours(void)
{
    const sqlite3_vfs *unix_vfs = sqlite3_vfs_find("unix");
    if (unix_vfs == NULL)
        return;
    snprintf(ours_name, sizeof ours_name, "holdfast-%p", (void *)&ours);
    ours = *unix_vfs;
    ours.pNext = NULL;
    ours.zName = ours_name;
    ours.szOsFile = hf_sq_shm_init(unix_vfs);
    ours.xOpen = open_db_or_log;
    ours.xDelete = remove_log;
    ours.xAccess = find_log;
    if (sqlite3_vfs_register(&ours, 0) == SQLITE_OK)
        usual = unix_vfs;
}

const char *hf_sq_vfs(void)
{
    pthread_once(&once, register_ours);
    assert(usual == NULL || sqlite3_vfs_find(ours_name) == &ours);
    return usual != NULL ? ours_name : NULL;
}

/* A program may unload this library while SQLite stays loaded. */
__attribute__((destructor)) static void unregister_ours(void)
{
    if (usual != NULL)
        sqlite3_vfs_unregister(&ours);
}
