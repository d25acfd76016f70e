/* log.c - see log.h. */
#include "store/sqlite/log.h"

#include <assert.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define ABOUT    24   /* bytes about a page */
#define PAGE_MAX 1024 /* as our databases have; larger ones are written by themselves */

struct extra {
    const sqlite3_io_methods *usual;
    sqlite3_io_methods        ours;
    sqlite3_file             *log;   /* of a database; NULL: none is open */
    sqlite3_file             *db;    /* of a log */
    bool                      waits; /* `bytes` begins with those about a page */
    sqlite3_int64             at;    /* where they are to be */
    sqlite3_int64             seen; /* what was read last, if nothing was written since */
    char                      bytes[ABOUT + PAGE_MAX];
};

static size_t usual_size;

int hf_sq_log_init(const sqlite3_vfs *usual)
{
    size_t step = alignof(max_align_t);

    usual_size = ((size_t)usual->szOsFile + step - 1) / step * step;
    return (int)(usual_size + sizeof(struct extra));
}

static struct extra *extra_of(sqlite3_file *file)
{
    return (struct extra *)((char *)file + usual_size);
}

static struct extra *wrap(sqlite3_file *file)
{
    struct extra *extra = extra_of(file);

    assert(usual_size > 0 && file->pMethods != NULL);
    *extra = (struct extra){ .usual = file->pMethods, .ours = *file->pMethods };
    extra->seen = -1;
    file->pMethods = &extra->ours;
    return extra;
}

static int write_waiting(sqlite3_file *log)
{
    struct extra *extra = extra_of(log);

    if (!extra->waits)
        return SQLITE_OK;
    extra->waits = false;
    return extra->usual->xWrite(log, extra->bytes, ABOUT, extra->at);
}

/* What is about a page is also written by itself, to mend it: SQLite has just read it then. */
static int write_log(sqlite3_file *log, const void *bytes, int size, sqlite3_int64 at)
{
    struct extra *extra = extra_of(log);
    bool          mends = at == extra->seen;

    extra->seen = -1;
    if (extra->waits && at == extra->at + ABOUT && size <= PAGE_MAX) {
        extra->waits = false;
        memcpy(extra->bytes + ABOUT, bytes, (size_t)size);
        return extra->usual->xWrite(log, extra->bytes, ABOUT + size, extra->at);
    }
    int rc = write_waiting(log);
    if (rc != SQLITE_OK)
        return rc;
    if (size != ABOUT || mends)
        return extra->usual->xWrite(log, bytes, size, at);
    memcpy(extra->bytes, bytes, ABOUT);
    extra->at = at;
    extra->waits = true;
    return SQLITE_OK;
}

static int read_log(sqlite3_file *log, void *bytes, int size, sqlite3_int64 at)
{
    int rc = write_waiting(log);

    extra_of(log)->seen = at;
    return rc != SQLITE_OK ? rc : extra_of(log)->usual->xRead(log, bytes, size, at);
}

static int truncate_log(sqlite3_file *log, sqlite3_int64 size)
{
    int rc = write_waiting(log);

    return rc != SQLITE_OK ? rc : extra_of(log)->usual->xTruncate(log, size);
}

static int sync_log(sqlite3_file *log, int flags)
{
    int rc = write_waiting(log);

    return rc != SQLITE_OK ? rc : extra_of(log)->usual->xSync(log, flags);
}

static int measure_log(sqlite3_file *log, sqlite3_int64 *ret)
{
    int rc = write_waiting(log);

    return rc != SQLITE_OK ? rc : extra_of(log)->usual->xFileSize(log, ret);
}

static int close_log(sqlite3_file *log)
{
    struct extra *extra = extra_of(log);

    write_waiting(log);
    if (extra->db != NULL && extra_of(extra->db)->log == log)
        extra_of(extra->db)->log = NULL;
    return extra->usual->xClose(log);
}

static int lock(sqlite3_file *db, int first, int count, int flags)
{
    struct extra *extra = extra_of(db);
    int rc = extra->log != NULL && (flags & SQLITE_SHM_UNLOCK) ? write_waiting(extra->log)
                                                               : SQLITE_OK;
    int unlocked = extra->usual->xShmLock(db, first, count, flags);

    return rc != SQLITE_OK ? rc : unlocked;
}

void hf_sq_log_wrap_db(sqlite3_file *db)
{
    struct extra *extra = wrap(db);

    if (extra->ours.iVersion >= 2)
        extra->ours.xShmLock = lock;
}

void hf_sq_log_wrap(sqlite3_file *log, const char *path)
{
    struct extra *extra = wrap(log);

    extra->db = sqlite3_database_file_object(path);
    extra_of(extra->db)->log = log;
    extra->ours.xWrite = write_log;
    extra->ours.xRead = read_log;
    extra->ours.xTruncate = truncate_log;
    extra->ours.xSync = sync_log;
    extra->ours.xFileSize = measure_log;
    extra->ours.xClose = close_log;
}
