/* link.c - opening the files, the session, and losing both.
 *
 * Happy path: we find the files as the last client left them, and open them.  The first
 * ENTER makes what is missing, and starts a session.
 *
 * Failures: files that do not belong together are used only if no client of the missing
 * ones can be alive.  If ours are deleted, moved or replaced, we lose our places, and the
 * next request starts over with the files that are there.
 */
#include "store/sqlite/link.h"
#include "store/sqlite/db/db.h"
#include "store/sqlite/files/files.h"
#include "store/sqlite/files/live.h"
#include "store/sqlite/history/history.h"
#include "store/sqlite/inner.h"
#include "store/sqlite/line/line.h"
#include "store/sqlite/line/own.h"
#include "store/sqlite/wake/wake.h"

#include "base/fork.h"
#include "base/random.h"
#include "holdfast.h"

#include <assert.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* How long we expect clients of the old files to stay: a holder notices within
 * milliseconds that its files are gone, a waiter within half a second. */
#define REFUSAL_LIMIT (1500 * HF_MS)

/* ---- Connecting -------------------------------------------------------------- */

/* FNV-1a. */
uint64_t hf_sq_hash(const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return hash;
}

static uint64_t read_boot(void)
{
    char    text[64];
    int     fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;

    if (fd >= 0)
        close(fd);
    if (n <= 0) /* unknown: then every call counts as another boot */
        return hf_random();
    text[n] = '\0';
    return hf_sq_hash(text);
}

/* Does any place in the rows have a living owner, as far as FIFOs can tell?  Its liveness
 * lock would say so for certain, but PATH-live is not the same file any more. */
static int has_living(struct hf_sq *sq)
{
    sqlite3_stmt *query = hf_sq_db_query(&sq->db, HF_SQ_SESSIONS);
    bool          lives = false;
    int           r = 0;

    while (!lives && (r = hf_sq_db_step(&sq->db, query)) == 1)
        lives = hf_sq_fifo_is_read(sq, (uint64_t)sqlite3_column_int64(query, 0));
    sqlite3_reset(query);
    return r;
}

static int refuse_files(struct hf_sq *sq)
{
    if (sq->refused == 0)
        sq->refused = sq->now;
    bool patient = sq->now - sq->refused < REFUSAL_LIMIT;

    return hf_sq_fail(
        sq, patient ? HF_EDOWN : HF_ESTORE,
        "%.80s was deleted or replaced while in use; wait until the processes "
        "that use it have ended, or remove %.80s as well",
        sq->files.db, strrchr(sq->files.live, '/') + 1);
}

/* The tables have an older layout.  Replace them if no client has a place in them.
 * Older clients that have the files open read the new header before they would read
 * the new tables. */
static int replace_layout(struct hf_sq *sq)
{
    struct hf_sq_header was = hf_sq_header_start(&sq->live);
    size_t              sessions = 0, stale = 0;

    assert(sq->live.locked);
    if (was.layout == 0) /* perhaps not the PATH-live that they have open */
        stale = hf_sq_fifo_clean(sq, true, &sessions);
    if (sessions > stale || hf_sq_live_any_locked(&sq->live))
        return refuse_files(sq);
    sq->header = hf_sq_header_now(&sq->files);
    sq->header.db = 0;
    sq->header.last = was.last;
    int r = hf_sq_write_header(sq);
    return r < 0 ? r : hf_sq_db_fill(&sq->db);
}

/* `make`: make what is missing, under the write lock; otherwise HF_ENOTFOUND or
 * HF_SQ_OLDER. */
static int open_db(struct hf_sq *sq, bool make)
{
    char *errmsg = sq->base.errmsg;

    int r = hf_sq_files_check(&sq->files, errmsg);
    if (r == HF_ENOTFOUND && make)
        r = hf_sq_files_make_db(&sq->files, errmsg);
    if (r == 0)
        r = hf_sq_db_open(&sq->db, &sq->files, errmsg);
    if (r == HF_ENOTFOUND && make) /* it is empty */
        r = hf_sq_db_fill(&sq->db);
    else if (r == HF_SQ_OLDER && make)
        r = replace_layout(sq);
    if (r == 0)
        r = hf_sq_db_prepare(&sq->db);
    return r == 0 ? hf_sq_files_check(&sq->files, errmsg) : r;
}

/* Under the write lock.  As long as any client of other files is alive, these files
 * are not even opened: SQLite might make a new log beside theirs. */
static int repair_files(struct hf_sq *sq)
{
    struct hf_sq_header known = hf_sq_header_start(&sq->live);
    uint64_t            layout = known.layout, ours = (uint64_t)hf_sq_layout;
    bool                is_known = hf_sq_header_read(&sq->live, &known);
    bool                lives = hf_sq_live_any_locked(&sq->live);

    assert(sq->live.locked && sq->db.handle == NULL);
    if (layout > ours || (layout != 0 && layout < ours && lives))
        return hf_sq_files_other_layout(sq->files.db, layout, sq->base.errmsg);
    sq->header = hf_sq_header_now(&sq->files);
    bool same = is_known && hf_sq_header_same_files(&known, &sq->header);
    if (!same && lives)
        return refuse_files(sq);
    int r = open_db(sq, true);
    if (r < 0 || (same && hf_sq_is_current(sq)))
        return r;
    r = is_known ? 0 : has_living(sq);
    if (r != 0)
        return r < 0 ? r : refuse_files(sq);
    /* Numbers go on from the last one, and are checked as after a boot. */
    sq->header = hf_sq_header_now(&sq->files);
    sq->header.last = known.last;
    if (is_known)
        sq->header.kept = known.kept;
    return hf_sq_write_header(sq);
}

static bool header_is_right(struct hf_sq *sq)
{
    struct hf_sq_header known;

    sq->header = hf_sq_header_now(&sq->files);
    return hf_sq_header_read(&sq->live, &known) && known.db != 0 &&
           hf_sq_header_same_files(&known, &sq->header);
}

/* The usual case: the files belong together, and no write lock is needed.  1: they are
 * open. */
static int open_unchanged(struct hf_sq *sq)
{
    if (!header_is_right(sq))
        return 0;
    int r = open_db(sq, false);
    if (r == 0 && header_is_right(sq))
        return 1;
    hf_sq_db_close(&sq->db);
    /* Replaced or emptied since we read the header. */
    return r == HF_ENOTFOUND || r == HF_SQ_OLDER ? 0 : r;
}

static int open_files(struct hf_sq *sq)
{
    int r = hf_sq_live_open(&sq->live, &sq->files, sq->base.errmsg);
    if (r == 0)
        r = open_unchanged(sq);
    if (r != 0)
        return r < 0 ? r : 0;
    r = hf_sq_write_lock(sq);
    if (r < 0)
        return r;
    /* The lock of a file that is gone keeps nobody out. */
    if (!hf_sq_live_is_at(&sq->live, sq->files.live))
        r = hf_sq_fail(sq, HF_EDOWN, "%.160s was replaced", sq->files.live);
    else
        r = repair_files(sq);
    hf_sq_write_lock_release(&sq->live);
    return r;
}

static int check_and_open(struct hf_sq *sq, bool make)
{
    char *errmsg = sq->base.errmsg;
    int   r = hf_sq_files_check_folder(&sq->files, errmsg);
    if (r == 1 && make) {
        r = hf_sq_files_make_folder(&sq->files, errmsg);
        if (r == 0)
            r = hf_sq_files_check_folder(&sq->files, errmsg);
    }
    if (r == 0 && !make)
        r = hf_sq_files_check(&sq->files, errmsg);
    if (r != 0)
        return r < 0 ? r : HF_ENOTFOUND;
    sq->boot = read_boot();
    r = open_files(sq);
    /* When it was opened, base.shared decided what may be shown to whom. */
    if (r == 0 && !sq->base.shared && hf_sq_files_shared(&sq->files))
        r = hf_sq_fail(sq, HF_EDENIED, "%.160s is shared with others now; open it again",
                       sq->files.db);
    if (r < 0) {
        hf_sq_disconnect(sq);
        return r;
    }
    assert(sq->db.handle != NULL && sq->live.fd >= 0);
    sq->refused = 0;
    r = hf_sq_history_set(sq);
    if (r < 0)
        hf_sq_disconnect(sq);
    return r;
}

/* If descriptors 0 to 2 are closed, SQLite would open /dev/null there and leave it
 * open. */
int hf_sq_connect(struct hf_sq *sq, bool make)
{
    if (sq->db.handle != NULL)
        return 0;
    hf_low_take();
    int r = check_and_open(sq, make);
    hf_low_give();
    return r;
}

void hf_sq_disconnect(struct hf_sq *sq)
{
    assert(!sq->live.locked);
    hf_sq_watch_store_lost(sq);
    hf_sq_file_watch_stop(sq);
    hf_sq_peers_close(sq);
    hf_sq_fifo_close(sq);
    sq->key_given = sq->ended = false;
    hf_sq_db_close(&sq->db);
    hf_sq_live_close(&sq->live);
    assert(sq->sid == 0 && sq->inotify < 0 && sq->peers == NULL);
}

/* ---- The session ------------------------------------------------------------- */

/* When a process dies, Linux closes its files from the newest to the oldest.  So the
 * FIFO is opened first: when others notice its end, the liveness locks are free. */
static int start_session(struct hf_sq *sq)
{
    assert(sq->owns.first == NULL); /* a client with a place has a session */
    int r = hf_sq_files_make_wake(&sq->files, sq->base.errmsg);
    if (r == 0)
        r = hf_sq_fifo_make(sq);
    if (r == 0) {
        r = hf_sq_live_start(&sq->live, &sq->files, sq->base.errmsg);
        if (r < 0)
            hf_sq_fifo_close(sq);
    }
    return r;
}

static void sweep_after_deaths(struct hf_sq *sq)
{
    size_t all;

    if (hf_sq_fifo_clean(sq, false, &all) > 0 && hf_sq_begin(sq) == 0)
        hf_sq_end(sq, hf_sq_sweep_all(sq));
}

int hf_sq_session(struct hf_sq *sq)
{
    int r = hf_sq_connect(sq, true);

    if (r < 0 || sq->sid != 0)
        return r;
    r = hf_sq_db_check(&sq->db);
    if (r < 0)
        return r;
    hf_low_take();
    r = start_session(sq);
    hf_low_give();
    if (r < 0)
        return r;
    sweep_after_deaths(sq);
    assert(sq->sid != 0 && sq->live.keep >= 0);
    return 0;
}

/* ---- Losing it --------------------------------------------------------------- */

bool hf_sq_is_current(struct hf_sq *sq)
{
    struct hf_sq_header now;

    assert(sq->live.fd >= 0);
    if (!hf_sq_live_is_at(&sq->live, sq->files.live) ||
        !hf_sq_header_read(&sq->live, &now) ||
        !hf_sq_header_same_files(&now, &sq->header))
        return false;
    sq->header = now;
    return true;
}

bool hf_sq_is_ended(struct hf_sq *sq)
{
    sq->ended = sq->ended || (sq->key_given && !hf_sq_fifo_is_named(sq));
    return sq->ended;
}

bool hf_sq_lose_session(struct hf_sq *sq)
{
    bool loss = sq->owns.first != NULL || sq->watches != NULL || sq->key_given;
    bool ended = sq->ended;

    hf_sq_disconnect(sq);
    if (!loss)
        return false;
    hf_sq_finish_all(sq, HF_EDOWN);
    while (sq->owns.first != NULL)
        hf_sq_owns_drop(&sq->owns, sq->owns.first, true);
    assert(sq->watches == NULL &&
           sq->waiting.first == NULL); /* answered before the link is LOST */
    if (ended)
        hf_sq_fail(
            sq, HF_ELOST,
            "the session was ended by its session key, or its file in %.120s was deleted",
            sq->files.wake);
    else
        hf_sq_fail(sq, HF_ELOST, "%.160s was deleted, moved or replaced while in use",
                   sq->files.db);
    hf_store_set_link(&sq->base, HF_LINK_LOST);
    hf_store_set_link(&sq->base, HF_LINK_UP);
    return true;
}
