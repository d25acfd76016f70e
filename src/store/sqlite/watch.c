/* watch.c - WATCH: who waits for what, and when that has come true.
 *
 * A ticket that waits in the line is told by whoever makes it be granted: it
 * needs nothing written down.  An outsider, and who wants to know of every
 * change, asks to be told by a row in the table `watcher`.  Nobody is told by
 * those who die, so each watch also keeps an eye on the sessions it waits for
 * (peer.c).
 */
#include "store/sqlite/inner.h"

#include "holdfast.h"

#include <assert.h>
#include <stdlib.h>

struct hf_sq_watch {
    struct hf_req      *req;
    struct hf_sq_own   *own; /* NULL: an outsider's */
    bool                any; /* of any change, from whatever place */
    uint64_t            line_hash;
    struct hf_sq_watch *next, **prev;         /* of all */
    struct hf_sq_watch *own_next, **own_prev; /* of its ticket */
    size_t              count;
    struct hf_sq_tie    tie[]; /* tickets whose end would end the wait */
};

/* FNV-1a, told apart from every seq by its highest bit. */
uint64_t hf_sq_line_hash(const char *line)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (; *line != '\0'; line++)
        hash = (hash ^ (unsigned char)*line) * UINT64_C(0x100000001b3);
    return hash | UINT64_C(1) << 63;
}

/* ---- Ending ------------------------------------------------------------------- */

static void add_watch(struct hf_sq *sq, struct hf_sq_watch *watch)
{
    watch->next = sq->watches;
    watch->prev = &sq->watches;
    if (watch->next != NULL)
        watch->next->prev = &watch->next;
    sq->watches = watch;
    watch->req->work = watch;
    if (watch->own == NULL)
        return;
    watch->own_next = watch->own->watches;
    watch->own_prev = &watch->own->watches;
    if (watch->own_next != NULL)
        watch->own_next->own_prev = &watch->own_next;
    watch->own->watches = watch;
}

static void end_watch(struct hf_sq *sq, struct hf_sq_watch *watch, int status)
{
    assert(watch->req->op == HF_WATCH && *watch->prev == watch);
    *watch->prev = watch->next;
    if (watch->next != NULL)
        watch->next->prev = watch->prev;
    if (watch->own != NULL)
        *watch->own_prev = watch->own_next;
    if (watch->own != NULL && watch->own_next != NULL)
        watch->own_next->own_prev = watch->own_prev;
    watch->req->work = NULL;
    hf_sq_finish(sq, watch->req, status);
    free(watch);
}

bool hf_sq_watch_cancel(struct hf_sq *sq, struct hf_req *req)
{
    if (req->op != HF_WATCH || req->work == NULL)
        return false;
    end_watch(sq, req->work, HF_ECANCELED);
    return true;
}

void hf_sq_watches_drop(struct hf_sq *sq)
{
    while (sq->watches != NULL)
        end_watch(sq, sq->watches, HF_EDOWN);
}

void hf_sq_watches_drop_own(struct hf_sq *sq, const struct hf_sq_own *own)
{
    while (own->watches != NULL)
        end_watch(sq, own->watches, 0);
}

/* ---- News ----------------------------------------------------------------------- */

/* If it comes before its WATCH, that will hear of it. */
static void wake_own(struct hf_sq *sq, struct hf_sq_own *own)
{
    own->woken = own->watches == NULL;
    hf_sq_watches_drop_own(sq, own);
}

/* The line has changed: who watches it from outside, or all of it. */
static void wake_line(struct hf_sq *sq, uint64_t hash)
{
    for (struct hf_sq_watch *watch = sq->watches, *next; watch != NULL; watch = next) {
        next = watch->next;
        if (watch->line_hash != hash || (watch->own != NULL && !watch->any))
            continue;
        if (watch->own != NULL)
            watch->own->woken = false;
        end_watch(sq, watch, 0);
    }
}

static void wake_all(struct hf_sq *sq)
{
    for (struct hf_sq_own *own = sq->owns.first; own != NULL; own = own->next)
        wake_own(sq, own);
    while (sq->watches != NULL)
        end_watch(sq, sq->watches, 0);
}

void hf_sq_hear(struct hf_sq *sq, uint64_t about)
{
    if (about == HF_SQ_ENDED) {
        hf_sq_will_check(sq);
        return;
    }
    if (about == 0) /* that may have been it */
        hf_sq_will_check(sq);
    struct hf_sq_own *own = hf_sq_owns_by_seq(&sq->owns, about);
    if (about == 0)
        wake_all(sq);
    else if (own != NULL)
        wake_own(sq, own);
    else
        wake_line(sq, about);
}

static bool has_dead_tie(const struct hf_sq *sq, const struct hf_sq_watch *watch,
                         uint64_t sid)
{
    for (size_t i = 0; i < watch->count; i++)
        if ((sid == 0 || watch->tie[i].sid == sid) &&
            !hf_sq_is_alive(sq, watch->tie[i].seq))
            return true;
    return false;
}

/* Somebody died whom it waits for.  If that may be anywhere in the line, its owner
 * has to look everywhere. */
static void raise_alarm(const struct hf_sq_watch *watch)
{
    if (watch->own != NULL && watch->any)
        watch->own->alarmed = true;
}

static bool waits_for(const struct hf_sq_watch *watch, uint64_t sid)
{
    for (size_t i = 0; i < watch->count; i++)
        if (watch->tie[i].sid == sid)
            return true;
    return false;
}

bool hf_sq_watches_check(struct hf_sq *sq, uint64_t sid)
{
    bool still = false;

    for (struct hf_sq_watch *watch = sq->watches, *next; watch != NULL; watch = next) {
        next = watch->next;
        if (has_dead_tie(sq, watch, sid)) {
            raise_alarm(watch);
            end_watch(sq, watch, 0);
        } else {
            still |= waits_for(watch, sid);
        }
    }
    return still;
}

/* ---- Beginning ---------------------------------------------------------------- */

static bool contains(const uint64_t *seqs, size_t count, uint64_t seq)
{
    for (size_t i = 0; i < count; i++)
        if (seqs[i] == seq)
            return true;
    return false;
}

static struct hf_sq_watch *make_watch(struct hf_sq *sq, struct hf_req *req, size_t ties)
{
    struct hf_sq_watch *watch = calloc(1, sizeof *watch + ties * sizeof *watch->tie);

    assert(req->op == HF_WATCH);
    if (watch == NULL) {
        hf_sq_fail(sq, HF_ENOMEM, "out of memory");
        return NULL;
    }
    watch->req = req;
    watch->any = req->count == 0;
    watch->line_hash = hf_sq_line_hash(req->name);
    return watch;
}

static void add_tie(struct hf_sq_watch *watch, uint64_t seq, uint64_t sid)
{
    watch->tie[watch->count++] = (struct hf_sq_tie){ seq, sid };
}

/* First an eye on every session, then a look at its ticket: whoever dies after
 * the look is noticed, whoever died before is seen. */
static bool start_watch(struct hf_sq *sq, struct hf_sq_watch *watch, int *status)
{
    *status = 0;
    for (size_t i = 0; i < watch->count && *status == 0; i++)
        *status = hf_sq_peer_need(sq, watch->tie[i].sid);
    bool died = *status == 0 && has_dead_tie(sq, watch, 0);
    if (died)
        raise_alarm(watch);
    if (*status < 0 || died) {
        free(watch);
        return false;
    }
    assert(watch->own == NULL || !watch->own->woken); /* what came before has counted */
    add_watch(sq, watch);
    return true;
}

/* From a place in the line: a holder, which watches itself, or a waiter. */
static bool watch_inside(struct hf_sq *sq, struct hf_req *req, struct hf_sq_own *own,
                         int *status)
{
    struct hf_sq_watch *watch = NULL;

    assert(req->count > 0); /* any change is watched from outside */
    *status = 0;
    bool waits = !contains(req->seqs, req->count, own->seq);
    if (waits && own->count == 0)
        return false;
    watch = make_watch(sq, req, own->count);
    if (watch == NULL) {
        *status = HF_ENOMEM;
        return false;
    }
    watch->own = own;
    for (size_t i = 0; waits && i < own->count; i++)
        if (contains(req->seqs, req->count, own->ahead[i].seq))
            add_tie(watch, own->ahead[i].seq, own->ahead[i].sid);
    if (waits && watch->count < req->count) { /* asks for more than we know of */
        free(watch);
        return false;
    }
    return start_watch(sq, watch, status);
}

/* Has anything happened since we last looked, from our place? */
static int changed_inside(struct hf_sq *sq, const struct hf_req *req,
                          struct hf_sq_own *own)
{
    assert(sq->live.taken); /* rows and sum are of one moment */
    int r = hf_sq_sum_up(sq, req->name, own->seq);
    if (r < 0)
        return r;
    own->alarmed = sq->rows.count < sq->sum.count; /* not all are alive */
    return own->alarmed || (req->stamp != 0 && req->stamp != hf_sq_sum_stamp(&sq->sum));
}

/* In one transaction: ask to be told, and see that it has not happened yet.
 * 1 if it has. */
static int ask_to_be_told(struct hf_sq *sq, const struct hf_req *req,
                          struct hf_sq_own *own)
{
    sqlite3_stmt *query = hf_sq_db_bind(&sq->db, HF_SQ_WATCH, req->name, sq->sid);
    uint64_t      stamp = 0;
    size_t        there = 0;

    assert(sq->live.taken && sq->sid != 0);
    sqlite3_bind_int(query, 3, req->count == 0);
    int r = hf_sq_db_step(&sq->db, query);
    sq->head.told = true;
    if (r == 0 && !hf_sq_head_write(&sq->live, &sq->head))
        r = hf_sq_fail(sq, HF_EFULL, "cannot write to %.160s", sq->files.live);
    if (r == 0)
        r = hf_sq_rows_all(sq, req->name, &stamp);
    if (r < 0 || own != NULL)
        return r < 0 ? r : changed_inside(sq, req, own);
    for (size_t i = 0; i < sq->rows.count; i++)
        there += contains(req->seqs, req->count, sq->rows.row[i].seq);
    bool changed = req->count == 0 && req->stamp != 0 && req->stamp != stamp;
    return changed || there < req->count;
}

/* From outside (`own` is NULL), or for any change. */
static bool watch_all(struct hf_sq *sq, struct hf_req *req, struct hf_sq_own *own,
                      int *status)
{
    int r = hf_sq_session(sq);
    if (r == 0)
        r = hf_sq_begin(sq);
    if (r == 0) {
        r = ask_to_be_told(sq, req, own);
        if (r == 0)
            r = hf_sq_commit(sq);
        else
            hf_sq_abort(sq);
    }
    *status = r < 0 ? r : 0;
    if (r != 0)
        return false;

    struct hf_sq_watch *watch = make_watch(sq, req, sq->rows.count);
    if (watch == NULL) {
        *status = HF_ENOMEM;
        return false;
    }
    watch->own = own;
    sq->watched = true;
    for (size_t i = 0; i < sq->rows.count; i++)
        if (req->count == 0 || contains(req->seqs, req->count, sq->rows.row[i].seq))
            add_tie(watch, sq->rows.row[i].seq, sq->rows.row[i].sid);
    hf_sq_patrol_start(sq);
    return start_watch(sq, watch, status);
}

bool hf_sq_watch(struct hf_sq *sq, struct hf_req *req, int *status)
{
    struct hf_sq_own *own = hf_sq_owns_find(&sq->owns, req->id);

    *status = 0;
    if (req->id != 0 && (own == NULL || own->woken)) {
        if (own != NULL)
            own->woken = false;
        return false;
    }
    return own != NULL && req->count > 0 ? watch_inside(sq, req, own, status)
                                         : watch_all(sq, req, own, status);
}

bool hf_sq_watch_held(struct hf_sq *sq, struct hf_req *req)
{
    struct hf_sq_own *own = hf_sq_owns_find(&sq->owns, req->id);

    if (own == NULL || !own->held || own->woken ||
        !contains(req->seqs, req->count, own->seq))
        return false;
    struct hf_sq_watch *watch = make_watch(sq, req, 0);
    if (watch == NULL)
        return false;
    watch->own = own;
    add_watch(sq, watch);
    return true;
}

void hf_sq_unwatch(struct hf_sq *sq)
{
    if (!sq->watched || hf_sq_begin(sq) < 0)
        return;
    assert(sq->watches == NULL && sq->sid != 0);
    if (hf_sq_db_step(&sq->db, hf_sq_db_bind(&sq->db, HF_SQ_UNWATCH, NULL, sq->sid)) == 0)
        hf_sq_commit(sq);
    else
        hf_sq_abort(sq);
    sq->watched = false;
}
