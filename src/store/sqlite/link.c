/* link.c - connecting, the session, and losing it.
 *
 * Happy path: the files are found as the last user left them, and opened.  The
 * first ENTER makes what is missing, and a session.
 *
 * Failures: files that do not belong together are used only if nobody can be
 * alive who knew the others.  If ours are deleted, moved or replaced, what we
 * held is lost, and the next request starts over with what is there.
 */
#include "store/sqlite/inner.h"

#include "base/fork.h"
#include "base/random.h"
#include "holdfast.h"

#include <assert.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* A client that holds a lock in files that are gone notices within milliseconds, one that only
 * waits within half a second. */
#define REFUSAL_LIMIT (1500 * HF_MS)

/* ---- Connecting ----------------------------------------------------------------- */

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
    if (n <= 0) /* not to be known: then every time counts as another boot */
        return hf_random();
    text[n] = '\0';
    return hf_sq_hash(text);
}

/* Has a ticket written down here a living owner, as far as FIFOs can tell?
 * The file that would say so for certain is not the one it was. */
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

    return hf_sq_fail(sq, patient ? HF_EDOWN : HF_ESTORE,
                      "%.80s was deleted or replaced while in use; wait until those who "
                      "use it have ended, or remove %.80s as well",
                      sq->files.db, strrchr(sq->files.live, '/') + 1);
}

/* The tables are of an older layout, in which nobody has a ticket any more.  Its clients that
 * have the files open see that the head is another before they could meet other tables. */
static int replace_layout(struct hf_sq *sq)
{
    struct hf_sq_head was = hf_sq_head_start(&sq->live);
    size_t            sessions = 0, stale = 0;

    assert(sq->live.taken);
    if (was.layout == 0) /* not the PATH-live that they know, perhaps */
        stale = hf_sq_fifo_clean(sq, true, &sessions);
    if (sessions > stale || hf_sq_live_has_any(&sq->live))
        return refuse_files(sq);
    sq->head = hf_sq_head_now(&sq->files);
    sq->head.db = 0;
    sq->head.last = was.last;
    int r = hf_sq_write_head(sq);
    return r < 0 ? r : hf_sq_db_fill(&sq->db);
}

/* `make` what is missing, with the gate taken; else it is HF_ENOTFOUND or HF_SQ_OLDER. */
static int open_db(struct hf_sq *sq, bool make)
{
    char *errmsg = sq->base.errmsg;

    int r = hf_sq_files_check(&sq->files, errmsg);
    if (r == HF_ENOTFOUND && make)
        r = hf_sq_files_make_db(&sq->files, errmsg);
    if (r == 0)
        r = hf_sq_db_open(&sq->db, &sq->files, errmsg);
    if (r == HF_ENOTFOUND && make) /* nothing in it */
        r = hf_sq_db_fill(&sq->db);
    else if (r == HF_SQ_OLDER && make)
        r = replace_layout(sq);
    if (r == 0)
        r = hf_sq_db_prepare(&sq->db);
    return r == 0 ? hf_sq_files_check(&sq->files, errmsg) : r;
}

/* With the gate taken.  Files that others know nothing of are not even opened
 * while any of those others lives: SQLite might make a new log beside theirs. */
static int put_in_order(struct hf_sq *sq)
{
    struct hf_sq_head known = hf_sq_head_start(&sq->live);
    uint64_t          layout = known.layout, ours = (uint64_t)hf_sq_layout;
    bool              is_known = hf_sq_head_read(&sq->live, &known);
    bool              lives = hf_sq_live_has_any(&sq->live);

    assert(sq->live.taken && sq->db.handle == NULL);
    if (layout > ours || (layout != 0 && layout < ours && lives))
        return hf_sq_files_other_layout(sq->files.db, layout, sq->base.errmsg);
    sq->head = hf_sq_head_now(&sq->files);
    bool same = is_known && hf_sq_head_same_files(&known, &sq->head);
    if (!same && lives)
        return refuse_files(sq);
    int r = open_db(sq, true);
    if (r < 0 || (same && hf_sq_current(sq)))
        return r;
    r = is_known ? 0 : has_living(sq);
    if (r != 0)
        return r < 0 ? r : refuse_files(sq);
    /* What is known of numbers is kept, and checked as after a boot. */
    sq->head = hf_sq_head_now(&sq->files);
    sq->head.last = known.last;
    if (is_known)
        sq->head.kept = known.kept;
    return hf_sq_write_head(sq);
}

static bool is_in_order(struct hf_sq *sq)
{
    struct hf_sq_head known;

    sq->head = hf_sq_head_now(&sq->files);
    return hf_sq_head_read(&sq->live, &known) && known.db != 0 &&
           hf_sq_head_same_files(&known, &sq->head);
}

/* The usual case, and without the gate.  1 if it was that. */
static int open_as_they_are(struct hf_sq *sq)
{
    if (!is_in_order(sq))
        return 0;
    int r = open_db(sq, false);
    if (r == 0 && is_in_order(sq))
        return 1;
    hf_sq_db_close(&sq->db);
    /* Replaced, or emptied, this very moment. */
    return r == HF_ENOTFOUND || r == HF_SQ_OLDER ? 0 : r;
}

static int open_files(struct hf_sq *sq)
{
    int r = hf_sq_live_open(&sq->live, &sq->files, sq->base.errmsg);
    if (r == 0)
        r = open_as_they_are(sq);
    if (r != 0)
        return r < 0 ? r : 0;
    r = hf_sq_gate(sq);
    if (r < 0)
        return r;
    /* The gate of a file that is gone keeps nobody out. */
    if (!hf_sq_live_is_at(&sq->live, sq->files.live))
        r = hf_sq_fail(sq, HF_EDOWN, "%.160s was replaced", sq->files.live);
    else
        r = put_in_order(sq);
    hf_sq_gate_give(&sq->live);
    return r;
}

static int connect_anew(struct hf_sq *sq, bool make)
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
    /* What may be shown was decided when the store was opened. */
    if (r == 0 && !sq->base.shared && hf_sq_files_shared(&sq->files))
        r = hf_sq_fail(sq, HF_EDENIED, "%.160s is shared with others now; open it anew",
                       sq->files.db);
    if (r < 0) {
        hf_sq_disconnect(sq);
        return r;
    }
    assert(sq->db.handle != NULL && sq->live.gate >= 0);
    sq->refused = 0;
    r = hf_sq_history_set(sq);
    if (r < 0)
        hf_sq_disconnect(sq);
    return r;
}

/* SQLite would put /dev/null wherever 0 to 2 are closed, for good. */
int hf_sq_connect(struct hf_sq *sq, bool make)
{
    if (sq->db.handle != NULL)
        return 0;
    hf_low_take();
    int r = connect_anew(sq, make);
    hf_low_give();
    return r;
}

void hf_sq_disconnect(struct hf_sq *sq)
{
    assert(!sq->live.taken);
    hf_sq_survey_lost(sq);
    hf_sq_patrol_stop(sq);
    hf_sq_peers_close(sq);
    hf_sq_fifo_close(sq);
    sq->willed = sq->ended = false;
    hf_sq_db_close(&sq->db);
    hf_sq_live_close(&sq->live);
    assert(sq->sid == 0 && sq->inotify < 0 && sq->peers == NULL);
}

/* ---- The session ---------------------------------------------------------------- */

/* What is open when a process dies is closed from the newest to the oldest, so
 * far.  So the FIFO comes first: when its end is noticed, the bytes are free. */
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

static void clean_up_after_others(struct hf_sq *sq)
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
    hf_low_take();
    r = start_session(sq);
    hf_low_give();
    if (r < 0)
        return r;
    clean_up_after_others(sq);
    assert(sq->sid != 0 && sq->live.keep >= 0);
    return 0;
}

/* ---- Losing it ------------------------------------------------------------------ */

bool hf_sq_current(struct hf_sq *sq)
{
    struct hf_sq_head now;

    assert(sq->live.gate >= 0);
    if (!hf_sq_live_is_at(&sq->live, sq->files.live) ||
        !hf_sq_head_read(&sq->live, &now) || !hf_sq_head_same_files(&now, &sq->head))
        return false;
    sq->head = now;
    return true;
}

bool hf_sq_is_ended(struct hf_sq *sq)
{
    sq->ended = sq->ended || (sq->willed && !hf_sq_fifo_is_named(sq));
    return sq->ended;
}

bool hf_sq_outdated(struct hf_sq *sq)
{
    bool loss = sq->owns.first != NULL || sq->watches != NULL || sq->willed;
    bool ended = sq->ended;

    hf_sq_disconnect(sq);
    if (!loss)
        return false;
    hf_sq_finish_all(sq, HF_EDOWN);
    while (sq->owns.first != NULL)
        hf_sq_owns_drop(&sq->owns, sq->owns.first, true);
    assert(sq->watches == NULL &&
           sq->waiting.first == NULL); /* told before the link is */
    if (ended)
        hf_sq_fail(sq, HF_ELOST,
                   "the session was ended by its will, or its file in %.120s was deleted",
                   sq->files.wake);
    else
        hf_sq_fail(sq, HF_ELOST, "%.160s was deleted, moved or replaced while in use",
                   sq->files.db);
    hf_store_set_link(&sq->base, HF_LINK_LOST);
    hf_store_set_link(&sq->base, HF_LINK_UP);
    return true;
}
