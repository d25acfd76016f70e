/* write.c - one transaction, behind the gate.
 *
 * The order of tickets is the order of commits: a number is drawn inside the
 * gate and inside the transaction that makes it visible (S1).
 */
#include "store/sqlite/inner.h"

#include "holdfast.h"

#include <assert.h>
#include <errno.h>
#include <sys/stat.h>

static void roll_back(struct hf_sq *sq)
{
    /* Some failures have done it already.  What it says itself is of no use. */
    if (sqlite3_get_autocommit(sq->db.handle) == 0)
        sqlite3_step(sq->db.query[HF_SQ_ROLLBACK]);
    sqlite3_reset(sq->db.query[HF_SQ_ROLLBACK]);
}

/* Without memory even that fails: then it is done before the next transaction. */
static int end_last(struct hf_sq *sq)
{
    roll_back(sq);
    if (sqlite3_get_autocommit(sq->db.handle) != 0)
        return 0;
    return hf_sq_fail(sq, HF_ESTORE, "the last change of %.140s cannot be undone: %.60s",
                      sq->files.db, sqlite3_errmsg(sq->db.handle));
}

/* A caller has a time limit of its own, and must not be kept here: its request comes back to the
 * gate until that has been shut for too long.  Then it fails.  A client that queues tries again,
 * and can say why it takes so long; one that leaves can do without the gate (sq->brief).  For
 * other requests that is the end, so they give a process that waits for a slow disk in there more
 * time. */
#define A_WHILE  (10 * HF_MS)
#define PATIENCE (150 * HF_MS)
#define TOO_LONG HF_SEC

/* Was the log written to since then?  So the gate was open in between, and others were quicker:
 * on a busy machine each may lose the processor in there, or wait for the disk. */
static bool was_open(const struct hf_sq *sq, hf_time since)
{
    struct stat st;

    return stat(sq->files.wal, &st) == 0 &&
           st.st_mtim.tv_sec * INT64_C(1000000) + st.st_mtim.tv_nsec / 1000 >
               hf_wall_us() - (hf_now() - since) * 1000 / HF_MS;
}

int hf_sq_gate(struct hf_sq *sq)
{
    hf_time patience = sq->hurry || sq->shut != 0 ? A_WHILE : PATIENCE;

    if (hf_sq_gate_take(&sq->live, patience)) {
        sq->shut = 0;
        return 0;
    }
    hf_time now = hf_now();
    if (sq->shut == 0 || was_open(sq, sq->shut))
        sq->shut = now;
    if (sq->hurry && now - sq->shut < (sq->brief ? PATIENCE : TOO_LONG))
        return HF_SQ_SHUT;
    return hf_sq_fail(sq, HF_EDOWN,
                      "%.120s is not answering: a process that writes to it was "
                      "stopped, or waits for the disk",
                      sq->files.db);
}

int hf_sq_begin(struct hf_sq *sq)
{
    assert(sq->db.handle != NULL);
    int r = end_last(sq);
    if (r == 0)
        r = hf_sq_gate(sq);
    if (r < 0)
        return r;
    /* Until here somebody may have put other files in their place.  From here on
     * nobody can do so and have them taken for good. */
    r = hf_sq_current(sq) ? hf_sq_db_begin(&sq->db) : HF_SQ_STALE;
    if (r < 0)
        hf_sq_gate_give(&sq->live);
    sq->news_count = 0;
    sq->drawn = false;
    sq->sum.open = sq->sum.changed = false;
    return r;
}

void hf_sq_abort(struct hf_sq *sq)
{
    assert(sq->live.taken);
    roll_back(sq);
    hf_sq_gate_give(&sq->live);
}

int hf_sq_write_head(struct hf_sq *sq)
{
    return hf_sq_head_write(&sq->live, &sq->head)
               ? 0
               : hf_sq_fail(sq, HF_EFULL, "cannot write to %.160s", sq->files.live);
}

int hf_sq_commit(struct hf_sq *sq)
{
    assert(sq->live.taken && sqlite3_get_autocommit(sq->db.handle) == 0);
    assert(!sq->sum.changed); /* it was closed */
    /* A number is taken before anybody can see the ticket that has it. */
    int r = sq->drawn ? hf_sq_write_head(sq) : 0;
    if (r == 0)
        r = hf_sq_db_commit(&sq->db);
    if (r < 0) {
        hf_sq_abort(sq);
        return r;
    }
    hf_sq_tell_all(sq); /* first of all: somebody waits for it */
    hf_sq_gate_give(&sq->live);
    assert(sq->news_count == 0); /* all of it is told */
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
 * another starts it anew ("WAL-reset bug", sqlite.org/wal.html), so it is done while the
 * gate is ours; if that is not free, somebody else will do it. */
#define LOG_SHORT (200 * 1048) /* bytes */

void hf_sq_write_back(struct hf_sq *sq, bool last)
{
    struct stat st;

    if (last && (stat(sq->files.wal, &st) < 0 || st.st_size < LOG_SHORT))
        return;
    if (!hf_sq_gate_take(&sq->live, A_WHILE))
        return;
    if (last) /* one that reads it this very moment is not waited for */
        sqlite3_busy_timeout(sq->db.handle, 0);
    if (hf_sq_current(sq))
        sqlite3_wal_checkpoint_v2(sq->db.handle, NULL,
                                  last ? SQLITE_CHECKPOINT_TRUNCATE
                                       : SQLITE_CHECKPOINT_PASSIVE,
                                  NULL, NULL);
    hf_sq_gate_give(&sq->live);
}

/* ---- Numbers ------------------------------------------------------------------ */

#define AN_HOUR UINT64_C(3600000000) /* us */

static uint64_t at_least(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The last commits before a power loss may be lost: that is the price of not
 * waiting for the disk.  No number may come back by it, so the mark that none
 * of them passes is raised ahead of time and flushed to the disk: once an hour,
 * and after every boot, when numbers start above the old one. */
static int raise_mark(struct hf_sq *sq)
{
    struct hf_sq_head *head = &sq->head;
    uint64_t           old = 0;

    assert(sq->live.taken); /* nobody draws a number meanwhile */
    int r = hf_sq_db_number(&sq->db, HF_SQ_MARK, &old);
    if (r < 0)
        return r;
    if (head->boot != sq->boot)
        head->last = at_least(head->last, old);
    head->boot = sq->boot;
    head->hwm = at_least(old, at_least(head->last + 1, (uint64_t)hf_wall_us()) + AN_HOUR);
    r = hf_sq_db_step(&sq->db, hf_sq_db_bind(&sq->db, HF_SQ_ADVANCE, NULL, head->hwm));
    if (r == 0 && sqlite3_changes(sq->db.handle) == 0)
        r = hf_sq_fail(sq, HF_ECORRUPT, "%.160s lacks its mark", sq->files.db);
    if (r < 0)
        return r;
    r = hf_sq_db_commit(&sq->db);
    if (r < 0)
        return r;
    if (!hf_sq_files_sync(sq->files.wal))
        return hf_sq_files_fault(errno, "flush", sq->files.wal, sq->base.errmsg);
    return hf_sq_write_head(sq);
}

static int advance(struct hf_sq *sq)
{
    int r = hf_sq_begin(sq);

    if (r == 0) {
        r = raise_mark(sq);
        hf_sq_abort(sq);
    }
    return r;
}

int hf_sq_draw(struct hf_sq *sq, uint64_t *ret)
{
    /* Those of one transaction follow each other: the kernel keeps bytes side by side as one
     * lock, and is the slower the more of them there are. */
    uint64_t number = sq->head.last + 1;
    if (!sq->drawn)
        number = at_least(number, (uint64_t)hf_wall_us());

    if (sq->head.boot != sq->boot || number > sq->head.hwm)
        return 0;
    if (!hf_sq_live_can(number))
        return hf_sq_fail(sq, HF_ECORRUPT,
                          "the numbers in %.140s make no sense; remove it once nobody "
                          "uses the store",
                          sq->files.live);
    sq->head.last = number; /* commit() writes it down */
    sq->drawn = true;
    *ret = number;
    return 1;
}

int hf_sq_begin_drawn(struct hf_sq *sq, uint64_t *ret)
{
    for (int tries = 0; tries < 3; tries++) {
        int r = hf_sq_begin(sq);
        if (r < 0)
            return r;
        /* Whoever ended our session did so behind the gate: no ticket of a session comes
         * after its end. */
        bool good = !hf_sq_is_ended(sq) && hf_sq_files_inode(sq->files.db) == sq->head.db;
        r = good ? hf_sq_draw(sq, ret) : HF_SQ_STALE;
        if (r == 1)
            return 0;
        hf_sq_abort(sq);
        if (r == 0)
            r = advance(sq);
        if (r < 0)
            return r;
    }
    return hf_sq_fail(sq, HF_ESTORE, "%.160s gives out no numbers", sq->files.db);
}
