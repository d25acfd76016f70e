/* write.c - one transaction under the write lock.
 *
 * The order of places is the order of commits: a number is drawn under the write lock,
 * and in the transaction that makes it visible (S1).
 */
#include "store/sqlite/db/db.h"
#include "store/sqlite/files/files.h"
#include "store/sqlite/files/live.h"
#include "store/sqlite/inner.h"
#include "store/sqlite/link.h"
#include "store/sqlite/wake/wake.h"

#include "holdfast.h"

#include <assert.h>
#include <errno.h>
#include <sys/stat.h>

static void roll_back(struct hf_sq *sq)
{
    /* Some failures have rolled back already.  The result of ROLLBACK is of no use. */
    if (sqlite3_get_autocommit(sq->db.handle) == 0)
        sqlite3_step(sq->db.query[HF_SQ_ROLLBACK]);
    sqlite3_reset(sq->db.query[HF_SQ_ROLLBACK]);
}

/* ROLLBACK can fail for lack of memory: then do it before the next transaction. */
static int end_last_transaction(struct hf_sq *sq)
{
    roll_back(sq);
    if (sqlite3_get_autocommit(sq->db.handle) != 0)
        return 0;
    return hf_sq_fail(sq, HF_ESTORE, "the last change of %.140s cannot be undone: %.60s",
                      sq->files.db, sqlite3_errmsg(sq->db.handle));
}

/* A caller has a time limit of its own, so we do not wait here for long: sq->can_retry
 * makes the request come back (HF_SQ_LOCKED) until the write lock has been taken for
 * too long.  Then the request fails.  An ENTER that queues is submitted again, and its
 * caller can say why it waits; a LEAVE can do without the lock: for both
 * sq->fail_soon is set.  For other requests a failure is final, so they give a writer
 * on a slow disk more time. */
#define WAIT_SHORT (10 * HF_MS)
#define WAIT_LONG  (150 * HF_MS)
#define TOO_LONG   HF_SEC

/* Was the log written to since then?  Then the lock was free in between, and others
 * were quicker: on a busy machine each writer may lose the processor, or wait for the
 * disk. */
static bool was_free(const struct hf_sq *sq, hf_time since)
{
    struct stat st;

    return stat(sq->files.wal, &st) == 0 &&
           st.st_mtim.tv_sec * INT64_C(1000000) + st.st_mtim.tv_nsec / 1000 >
               hf_wall_us() - (hf_now() - since) * 1000 / HF_MS;
}

/* The longer it is taken, the rarer we look: a crowd that looks all the time keeps the
 * writer from the processor. */
hf_time hf_sq_write_lock_pause(const struct hf_sq *sq)
{
    return HF_MS + sq->locked_for / 4;
}

/* Counts the time that we meant to wait, not the time that it took: where we lose the
 * processor, the writer does, too.  After a failure only looks: the caller asks again. */
int hf_sq_write_lock(struct hf_sq *sq)
{
    bool    waits = sq->locked_since != 0;
    hf_time patience = waits && sq->locked_for >= WAIT_LONG ? 0
                       : waits || sq->can_retry             ? WAIT_SHORT
                                                            : WAIT_LONG;

    if (hf_sq_write_lock_take(&sq->live, patience)) {
        sq->locked_since = 0;
        return 0;
    }
    if (errno != EWOULDBLOCK)
        return hf_sq_files_fault(errno, "lock", sq->files.live, sq->base.errmsg);
    if (sq->locked_since == 0 || was_free(sq, sq->locked_since)) {
        sq->locked_since = hf_now();
        sq->locked_for = 0;
    }
    sq->locked_for += patience + hf_sq_write_lock_pause(sq);
    if (sq->can_retry && sq->locked_for < (sq->fail_soon ? WAIT_LONG : TOO_LONG))
        return HF_SQ_LOCKED;
    return hf_sq_fail(sq, HF_EDOWN,
                      "%.120s is not answering: a process that writes to it was "
                      "stopped, or waits for the disk or the processor",
                      sq->files.db);
}

int hf_sq_begin(struct hf_sq *sq)
{
    assert(sq->db.handle != NULL);
    int r = end_last_transaction(sq);
    if (r == 0)
        r = hf_sq_write_lock(sq);
    if (r < 0)
        return r;
    /* Until here somebody may have replaced the files.  From here on no client accepts
     * others, as that needs the write lock. */
    r = hf_sq_is_current(sq) ? hf_sq_db_begin(&sq->db) : HF_SQ_STALE;
    if (r < 0)
        hf_sq_write_lock_release(&sq->live);
    sq->wakeup_count = 0;
    sq->drawn = false;
    sq->total.open = sq->total.changed = false;
    return r;
}

void hf_sq_abort(struct hf_sq *sq)
{
    assert(sq->live.locked);
    roll_back(sq);
    hf_sq_write_lock_release(&sq->live);
}

int hf_sq_write_header(struct hf_sq *sq)
{
    return hf_sq_header_write(&sq->live, &sq->header)
               ? 0
               : hf_sq_fail(sq, HF_EFULL, "cannot write to %.160s", sq->files.live);
}

int hf_sq_commit(struct hf_sq *sq)
{
    assert(sq->live.locked && sqlite3_get_autocommit(sq->db.handle) == 0);
    assert(!sq->total.changed); /* hf_sq_total_close() wrote it */
    /* Write the last number before anybody can see the place that has it. */
    int r = sq->drawn ? hf_sq_write_header(sq) : 0;
    if (r == 0)
        r = hf_sq_db_commit(&sq->db);
    if (r < 0) {
        hf_sq_abort(sq);
        return r;
    }
    hf_sq_wake_send(sq); /* first: sessions wait for it */
    hf_sq_write_lock_release(&sq->live);
    assert(sq->wakeup_count == 0);
    return 0;
}

int hf_sq_end(struct hf_sq *sq, int r)
{
    if (r == 0)
        return hf_sq_commit(sq);
    hf_sq_abort(sq);
    return r;
}

/* Up to 3.51.2 SQLite can damage the file if one process writes the log back while
 * another restarts it ("WAL-reset bug", sqlite.org/wal.html), so we do it under the
 * write lock.  If that is taken, another process will do it. */
#define LOG_SHORT (200 * 1048) /* bytes */

void hf_sq_checkpoint(struct hf_sq *sq, bool last)
{
    struct stat st;

    if (last && (stat(sq->files.wal, &st) < 0 || st.st_size < LOG_SHORT))
        return;
    if (!hf_sq_write_lock_take(&sq->live, WAIT_SHORT))
        return;
    if (last) /* do not wait for readers */
        sqlite3_busy_timeout(sq->db.handle, 0);
    if (hf_sq_is_current(sq))
        sqlite3_wal_checkpoint_v2(sq->db.handle, NULL,
                                  last ? SQLITE_CHECKPOINT_TRUNCATE
                                       : SQLITE_CHECKPOINT_PASSIVE,
                                  NULL, NULL);
    hf_sq_write_lock_release(&sq->live);
}

/* ---- Numbers ----------------------------------------------------------------- */

#define AN_HOUR UINT64_C(3600000000) /* us */

static uint64_t at_least(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* A power loss may lose the last commits: that is the price of not waiting for the
 * disk.  No number may be given out again by that.  So a mark that no number passes is
 * raised ahead of time and flushed to the disk: once an hour, and after every boot,
 * when numbers start above the old mark. */
static int raise_mark(struct hf_sq *sq)
{
    struct hf_sq_header *header = &sq->header;
    uint64_t             old = 0;

    assert(sq->live.locked); /* no other process draws a number meanwhile */
    int r = hf_sq_db_number(&sq->db, HF_SQ_MARK, &old);
    if (r < 0)
        return r;
    if (header->boot != sq->boot)
        header->last = at_least(header->last, old);
    header->boot = sq->boot;
    header->hwm =
        at_least(old, at_least(header->last + 1, (uint64_t)hf_wall_us()) + AN_HOUR);
    r = hf_sq_db_step(&sq->db, hf_sq_db_bind(&sq->db, HF_SQ_ADVANCE, NULL, header->hwm));
    if (r == 0 && sqlite3_changes(sq->db.handle) == 0)
        r = hf_sq_fail(sq, HF_ECORRUPT, "%.160s lacks its row in the table meta",
                       sq->files.db);
    if (r < 0)
        return r;
    r = hf_sq_db_commit(&sq->db);
    if (r < 0)
        return r;
    if (!hf_sq_files_sync(sq->files.wal))
        return hf_sq_files_fault(errno, "flush", sq->files.wal, sq->base.errmsg);
    return hf_sq_write_header(sq);
}

static int raise_mark_now(struct hf_sq *sq)
{
    int r = hf_sq_begin(sq);

    if (r == 0) {
        r = raise_mark(sq);
        hf_sq_abort(sq);
    }
    return r;
}

int hf_sq_number_draw(struct hf_sq *sq, uint64_t *ret)
{
    /* Numbers of one transaction are consecutive: the kernel keeps adjacent bytes as
     * one lock, and needs longer for each lookup the more locks there are. */
    uint64_t number = sq->header.last + 1;
    if (!sq->drawn)
        number = at_least(number, (uint64_t)hf_wall_us());

    if (sq->header.boot != sq->boot || number > sq->header.hwm)
        return 0;
    if (!hf_sq_seq_is_valid(number))
        return hf_sq_fail(sq, HF_ECORRUPT,
                          "the numbers in %.140s are invalid; remove it once nobody "
                          "uses the store",
                          sq->files.live);
    sq->header.last = number; /* commit() writes it */
    sq->drawn = true;
    *ret = number;
    return 1;
}

int hf_sq_begin_with_number(struct hf_sq *sq, uint64_t *ret)
{
    for (int tries = 0; tries < 3; tries++) {
        int r = hf_sq_begin(sq);
        if (r < 0)
            return r;
        /* A session is ended under the write lock, so no place of it can be added
         * after that. */
        bool good =
            !hf_sq_is_ended(sq) && hf_sq_files_inode(sq->files.db) == sq->header.db;
        r = good ? hf_sq_number_draw(sq, ret) : HF_SQ_STALE;
        if (r == 1)
            return 0;
        hf_sq_abort(sq);
        if (r == 0)
            r = raise_mark_now(sq);
        if (r < 0)
            return r;
    }
    return hf_sq_fail(sq, HF_ESTORE, "%.160s gives out no numbers", sq->files.db);
}
