/* shm.c - PATH-shm for SQLite: see shm.h. */
#include "store/sqlite/db/shm.h"
#include "store/sqlite/db/index.h"
#include "store/sqlite/files/files.h"

#include "base/fork.h"
#include "holdfast.h"
#include "store/store.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

/* The first of the bytes that are locked. */
#define FIRST_LOCK 120
#define IN_USE     128 /* shared: by all that have the file open */

/* SQLite's shared lock on the database itself, from its file format. */
#define DB_SHARED      0x40000002
#define DB_SHARED_SIZE 510

/* The locks, as bits. */
#define WRITER  0x01U
#define READERS 0xf0U /* of the log */

struct hf_sq_shm {
    sqlite3_io_methods        methods;
    const struct hf_sq_files *files;
    struct hf_sq_index        index;
    int                       db; /* the database, with a shared lock; -1: not open */
    bool                      read_only;
    bool                      in_use; /* we have the lock IN_USE */
    int                       error;  /* errno of the last write; 0: it succeeded */
    unsigned                  exclusive, shared; /* our locks */
    bool                      early; /* WRITER is ours before SQLite asked for it */
};

static size_t usual_size;

int hf_sq_shm_init(const sqlite3_vfs *usual)
{
    size_t step = alignof(max_align_t);

    usual_size = ((size_t)usual->szOsFile + step - 1) / step * step;
    return (int)(usual_size + sizeof(struct hf_sq_shm));
}

static struct hf_sq_shm *shm_of(sqlite3_file *db)
{
    return (struct hf_sq_shm *)((char *)db + usual_size);
}

/* ---- Locks ------------------------------------------------------------------- */

static bool set_lock(int fd, short type, int first, int count)
{
    struct flock lock = {
        .l_type = type, .l_whence = SEEK_SET, .l_start = first, .l_len = count
    };

    return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

/* SQLite ignores the result of an unlock, so the next lock reports the error. */
static void write_shm(struct hf_sq_shm *shm)
{
    if (!hf_sq_index_write(&shm->index, (shm->exclusive & WRITER) != 0))
        shm->error = errno;
}

static int unlock_shm(struct hf_sq_shm *shm, int first, int count)
{
    unsigned mask = ((1U << count) - 1) << first;

    if ((shm->exclusive & mask) != 0)
        write_shm(shm);
    if ((mask & WRITER) != 0)
        shm->early = false;
    bool ours = ((shm->exclusive | shm->shared) & mask) != 0;
    shm->exclusive &= ~mask;
    shm->shared &= ~mask;
    return !ours || set_lock(shm->index.fd, F_UNLCK, FIRST_LOCK + first, count)
               ? SQLITE_OK
               : SQLITE_IOERR_UNLOCK;
}

static int lock_shm(sqlite3_file *db, int first, int count, int flags)
{
    struct hf_sq_shm *shm = shm_of(db);
    unsigned          mask = ((1U << count) - 1) << first;
    bool              shared = (flags & SQLITE_SHM_SHARED) != 0;

    assert(shm->index.count > 0);
    if ((flags & SQLITE_SHM_UNLOCK) != 0)
        return unlock_shm(shm, first, count);
    if (shm->error != 0) {
        errno = shm->error;
        shm->error = 0;
        return SQLITE_IOERR_SHMLOCK;
    }
    if (shm->early && (shared || mask == WRITER))
        return SQLITE_OK;
    if (shm->early && count == 1 && hf_sq_index_has_mark(&shm->index))
        return SQLITE_BUSY;
    if (!set_lock(shm->index.fd, shared ? F_RDLCK : F_WRLCK, FIRST_LOCK + first, count))
        return errno == EAGAIN || errno == EACCES ? SQLITE_BUSY : SQLITE_IOERR_SHMLOCK;
    if (shm->in_use && !hf_sq_index_read(&shm->index, (shm->exclusive & WRITER) != 0)) {
        set_lock(shm->index.fd, F_UNLCK, FIRST_LOCK + first, count);
        return SQLITE_IOERR_SHMMAP;
    }
    *(shared ? &shm->shared : &shm->exclusive) |= mask;
    return SQLITE_OK;
}

/* When SQLite restarts the log, it first changes the header, then truncates the log. */
static void order_writes(sqlite3_file *db)
{
    struct hf_sq_shm *shm = shm_of(db);

    if ((shm->exclusive & READERS) != 0 && (shm->exclusive & WRITER) != 0)
        write_shm(shm);
}

/* ---- Opening ----------------------------------------------------------------- */

/* The first client does not trust the index in the file: the machine may have
 * crashed.  If it can only read, SQLite makes an index from the log for each
 * transaction. */
static int enter_use(struct hf_sq_shm *shm)
{
    struct flock others = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = IN_USE, .l_len = 1
    };

    if (shm->read_only) {
        if (fcntl(shm->index.fd, F_OFD_GETLK, &others) < 0)
            return SQLITE_IOERR_SHMLOCK;
        if (others.l_type == F_UNLCK)
            return SQLITE_READONLY_CANTINIT;
    } else if (set_lock(shm->index.fd, F_WRLCK, IN_USE, 1)) {
        if (ftruncate(shm->index.fd, 0) < 0)
            return SQLITE_IOERR_SHMOPEN;
        errno = posix_fallocate(shm->index.fd, 0, HF_SQ_INDEX_REGION);
        if (errno != 0)
            return SQLITE_IOERR_SHMSIZE;
    }
    if (!set_lock(shm->index.fd, F_RDLCK, IN_USE, 1))
        return SQLITE_BUSY;
    shm->in_use = true;
    return hf_sq_index_read(&shm->index, false) ? SQLITE_OK : SQLITE_IOERR_SHMMAP;
}

static int close_shm(sqlite3_file *db, int remove)
{
    struct hf_sq_shm *shm = shm_of(db);

    (void)remove; /* another process may be about to open it */
    if (shm->index.fd >= 0)
        hf_fork_close(shm->index.fd);
    if (shm->db >= 0)
        hf_fork_close(shm->db);
    shm->db = -1;
    hf_sq_index_finish(&shm->index);
    shm->exclusive = shm->shared = 0;
    shm->early = shm->in_use = false;
    shm->error = 0;
    return SQLITE_OK;
}

/* SQLite's own lock on the database belongs to the process.  If there is another SQLite in
 * the process, as in a Python that brings one, a close() there removes our lock, and it
 * deletes the log, because nobody else seems to use the database.  This lock belongs to
 * our descriptor, and keeps every SQLite from that.  We never need to exclude ourselves:
 * a database is changed to have a log before its index is opened, and our handles do not
 * delete the log (db_open.c). */
static int share_db(struct hf_sq_shm *shm)
{
    char why[HF_ERRMSG_MAX];

    if (shm->db < 0 &&
        hf_sq_files_open(shm->files, shm->files->db, O_RDONLY, why, &shm->db) < 0)
        return SQLITE_CANTOPEN;
    return set_lock(shm->db, F_RDLCK, DB_SHARED, DB_SHARED_SIZE) ? SQLITE_OK
                                                                 : SQLITE_BUSY;
}

static int open_shm(struct hf_sq_shm *shm)
{
    char why[HF_ERRMSG_MAX];

    assert(shm->files != NULL && shm->index.count == 0);
    int rc = share_db(shm);
    if (rc != SQLITE_OK)
        return rc;
    if (hf_sq_files_open(shm->files, shm->files->shm, O_RDWR, why, &shm->index.fd) < 0)
        return SQLITE_CANTOPEN;
    shm->read_only = (fcntl(shm->index.fd, F_GETFL) & O_ACCMODE) == O_RDONLY;
    return hf_sq_index_region(&shm->index, 0) != NULL ? SQLITE_OK : SQLITE_NOMEM;
}

/* A new region is there at once, and empty, whether `extend` is set or not. */
static int map_shm(sqlite3_file *db, int number, int size, int extend,
                   void volatile **ret)
{
    struct hf_sq_shm *shm = shm_of(db);
    int               rc = shm->index.fd >= 0 ? SQLITE_OK : open_shm(shm);

    (void)extend;
    assert(size == HF_SQ_INDEX_REGION);
    *ret = NULL;
    if (rc == SQLITE_OK && !shm->in_use)
        rc = enter_use(shm);
    if (rc != SQLITE_OK)
        return rc;
    *ret = hf_sq_index_region(&shm->index, (size_t)number);
    if (*ret == NULL)
        return SQLITE_NOMEM;
    return shm->read_only ? SQLITE_READONLY : SQLITE_OK;
}

void hf_sq_shm_wrap(sqlite3_file *db)
{
    struct hf_sq_shm *shm = shm_of(db);

    assert(usual_size > 0 && db->pMethods != NULL && db->pMethods->iVersion >= 2);
    *shm = (struct hf_sq_shm){ .methods = *db->pMethods, .index.fd = -1, .db = -1 };
    shm->methods.xShmMap = map_shm;
    shm->methods.xShmLock = lock_shm;
    shm->methods.xShmBarrier = order_writes;
    shm->methods.xShmUnmap = close_shm;
    db->pMethods = &shm->methods;
}

static sqlite3_file *file_of(sqlite3 *handle)
{
    sqlite3_file *db = NULL;

    sqlite3_file_control(handle, "main", SQLITE_FCNTL_FILE_POINTER, &db);
    assert(db != NULL && db->pMethods == &shm_of(db)->methods);
    return db;
}

void hf_sq_shm_set_files(sqlite3 *handle, const struct hf_sq_files *files)
{
    shm_of(file_of(handle))->files = files;
}

void hf_sq_shm_lock_early(sqlite3 *handle)
{
    sqlite3_file     *db = file_of(handle);
    struct hf_sq_shm *shm = shm_of(db);

    assert(shm->exclusive == 0);
    if (shm->in_use && shm->shared == 0 && !shm->read_only)
        shm->early =
            lock_shm(db, 0, 1, SQLITE_SHM_LOCK | SQLITE_SHM_EXCLUSIVE) == SQLITE_OK;
}

void hf_sq_shm_unlock_early(sqlite3 *handle)
{
    struct hf_sq_shm *shm = shm_of(file_of(handle));

    if (shm->early)
        unlock_shm(shm, 0, 1);
}
