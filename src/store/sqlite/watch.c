/* watch.c - WATCH: who waits for what, and when that has come true.
 *
 * The WATCH of an own place compares what the caller knows with how the place stands:
 *
 *                      the same: an eye on those in the way
 *     sq->waiting ------------------------------------------> own->watch
 *       |     ^                                                   |
 *       |     +---------------------------------------------------+
 *       |       told by whoever changes how it stands; or one in the way died
 *       +--> answered: it differs
 *
 * An outsider, and a place that follows how many are ahead, asks to be told of the line by
 * a row in the table `watcher`.  Nobody is told by those who die, so there is an eye on the
 * sessions of all whose end matters (peer.c).
 */
#include "store/sqlite/inner.h"

#include "holdfast.h"

#include <assert.h>
#include <stdlib.h>

/* An outsider's: of a line, or of one place in it (req->token). */
struct hf_sq_watch {
    struct hf_req      *req;
    uint64_t            line_hash;
    struct hf_sq_ties   ties; /* whose end would end the wait */
    struct hf_sq_watch *next, **prev;
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

static void end_outside(struct hf_sq *sq, struct hf_sq_watch *watch, int status)
{
    assert(watch->req->op == HF_WATCH && *watch->prev == watch);
    *watch->prev = watch->next;
    if (watch->next != NULL)
        watch->next->prev = watch->prev;
    watch->req->work = NULL;
    hf_sq_finish(sq, watch->req, status);
    free(watch->ties.tie);
    free(watch);
}

static struct hf_req *take_off(struct hf_sq_own *own)
{
    struct hf_req *req = own->watch;

    assert(req == NULL || (req->op == HF_WATCH && req->work == own));
    own->watch = NULL;
    if (req != NULL)
        req->work = NULL;
    return req;
}

static void end_own(struct hf_sq *sq, struct hf_sq_own *own, int status)
{
    struct hf_req *req = take_off(own);

    if (req != NULL)
        hf_sq_finish(sq, req, status);
}

bool hf_sq_watch_cancel(struct hf_sq *sq, struct hf_req *req)
{
    if (req->op != HF_WATCH || req->work == NULL)
        return false;
    if (req->id != 0)
        end_own(sq, req->work, HF_ECANCELED);
    else
        end_outside(sq, req->work, HF_ECANCELED);
    return true;
}

void hf_sq_watches_drop(struct hf_sq *sq)
{
    for (struct hf_sq_own *own = sq->owns.first; own != NULL; own = own->next)
        end_own(sq, own, HF_EDOWN);
    while (sq->watches != NULL)
        end_outside(sq, sq->watches, HF_EDOWN);
}

void hf_sq_watch_gone(struct hf_sq *sq, struct hf_sq_own *own)
{
    if (own->watch != NULL)
        own->watch->standing = hf_sq_no_place;
    end_own(sq, own, 0);
}

/* ---- News ----------------------------------------------------------------------- */

/* Its WATCH is carried out again; or one that comes later will look first. */
static void wake_own(struct hf_sq *sq, struct hf_sq_own *own)
{
    struct hf_req *req = take_off(own);

    own->woken = true;
    if (req == NULL)
        return;
    hf_requests_append(&sq->waiting, req);
    sq->base.wake = 0;
}

static bool follows(const struct hf_sq_own *own, uint64_t hash)
{
    return own->watch != NULL && own->watch->follow && hf_sq_line_hash(own->line) == hash;
}

static void wake_line(struct hf_sq *sq, uint64_t hash)
{
    for (struct hf_sq_own *own = sq->owns.first; own != NULL; own = own->next)
        if (follows(own, hash))
            wake_own(sq, own);
    for (struct hf_sq_watch *watch = sq->watches, *next; watch != NULL; watch = next) {
        next = watch->next;
        if (watch->line_hash == hash)
            end_outside(sq, watch, 0);
    }
}

static void wake_all(struct hf_sq *sq)
{
    for (struct hf_sq_own *own = sq->owns.first; own != NULL; own = own->next)
        wake_own(sq, own);
    while (sq->watches != NULL)
        end_outside(sq, sq->watches, 0);
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

/* Of the session `sid`, or of any if that is 0: is one of them dead?  *waits: there is one
 * that lives. */
static bool has_dead(const struct hf_sq *sq, const struct hf_sq_ties *ties, uint64_t sid,
                     bool *waits)
{
    for (size_t i = 0; i < ties->count; i++) {
        if (sid != 0 && ties->tie[i].sid != sid)
            continue;
        if (!hf_sq_is_alive(sq, ties->tie[i].seq))
            return true;
        *waits = true;
    }
    return false;
}

bool hf_sq_watches_check(struct hf_sq *sq, uint64_t sid)
{
    bool still = false;

    for (struct hf_sq_own *own = sq->owns.first; own != NULL; own = own->next)
        if (own->watch != NULL && has_dead(sq, &own->ahead, sid, &still))
            wake_own(sq, own);
    for (struct hf_sq_watch *watch = sq->watches, *next; watch != NULL; watch = next) {
        next = watch->next;
        if (has_dead(sq, &watch->ties, sid, &still))
            end_outside(sq, watch, 0);
    }
    return still;
}

/* ---- Beginning ---------------------------------------------------------------- */

/* First an eye on every session, then a look at its ticket: whoever dies after
 * the look is noticed, whoever died before is seen.  1 if somebody did. */
static int keep_eyes(struct hf_sq *sq, const struct hf_sq_ties *ties)
{
    bool waits;
    int  r = 0;

    for (size_t i = 0; i < ties->count && r == 0; i++)
        r = hf_sq_peer_need(sq, ties->tie[i].sid);
    return r < 0 ? r : has_dead(sq, ties, 0, &waits);
}

/* In a transaction: the next change of the line, or the next departure, is told to us. */
static int ask_to_be_told(struct hf_sq *sq, const char *line, bool any)
{
    sqlite3_stmt *query = hf_sq_db_bind(&sq->db, HF_SQ_WATCH, line, sq->sid);

    assert(sq->live.taken && sq->sid != 0);
    sqlite3_bind_int(query, 3, any);
    int r = hf_sq_db_step(&sq->db, query);
    sq->watched = true;
    sq->head.told = 1;
    return r < 0 ? r : hf_sq_write_head(sq);
}

/* A place follows how many are ahead.  From the commit on it is told when that changes, and
 * the dead do not count. */
static int begin_to_follow(struct hf_sq *sq, const char *line)
{
    int r = hf_sq_begin(sq);
    if (r < 0)
        return r;
    r = hf_sq_find_dead(sq, line);
    if (r == 0 && sq->dead.count > 0)
        r = hf_sq_sweep(sq, line);
    if (r == 0)
        r = ask_to_be_told(sq, line, false);
    return hf_sq_end(sq, r);
}

static int keep_all_ahead(struct hf_sq *sq, struct hf_sq_own *own)
{
    uint64_t stamp;

    int r = hf_sq_rows_all(sq, own->line, &stamp);
    own->ahead.count = 0;
    for (size_t i = 0; r == 0 && i < sq->rows.count; i++)
        if (sq->rows.row[i].seq < own->seq)
            r = hf_sq_tie(sq, &own->ahead, &sq->rows.row[i]);
    return r;
}

static bool is_news(const struct hf_sq_own *own, const struct hf_req *req)
{
    return own->woken || hf_standing_differs(&own->last, req);
}

static void put_on(struct hf_sq *sq, struct hf_sq_own *own, struct hf_req *req)
{
    assert(own->watch == NULL && !own->woken);
    own->watch = req;
    req->work = own;
    hf_sq_patrol_start(sq);
}

/* 1: it stands in another way than the caller knows, and `req` has the answer. */
static int compare_own(struct hf_sq *sq, struct hf_req *req, struct hf_sq_own *own)
{
    bool following = req->follow && own->last.state == HF_STAND_WAITS;
    int  r = following ? begin_to_follow(sq, own->line) : 0;

    if (r == 0 && (following || is_news(own, req))) {
        r = hf_sq_read_own(sq, own);
        if (r == 0)
            req->standing = hf_sq_no_place;
        if (r <= 0)
            return r < 0 ? r : 1;
    }
    if (r < 0)
        return r;
    if (hf_standing_differs(&own->last, req)) {
        req->standing = own->last;
        return 1;
    }
    return following ? keep_all_ahead(sq, own) : 0;
}

static bool watch_own(struct hf_sq *sq, struct hf_req *req, struct hf_sq_own *own,
                      int *status)
{
    int r = compare_own(sq, req, own);

    *status = r < 0 ? r : 0;
    if (r != 0)
        return false;
    int died = keep_eyes(sq, &own->ahead);
    if (died < 0) {
        *status = died;
        return false;
    }
    end_own(sq, own, 0); /* an earlier one, which knows the same */
    put_on(sq, own, req);
    if (died == 1)
        wake_own(sq, own);
    return true;
}

bool hf_sq_watch_rests(struct hf_sq *sq, struct hf_req *req)
{
    struct hf_sq_own *own = hf_sq_owns_find(&sq->owns, req->id);

    if (own == NULL || own->last.state != HF_STAND_HOLDS || own->watch != NULL ||
        is_news(own, req))
        return false;
    put_on(sq, own, req);
    return true;
}

/* Has what is watched for happened?  sq->rows is the line. */
static bool is_over(const struct hf_sq *sq, const struct hf_req *req, uint64_t stamp)
{
    for (size_t i = 0; req->token != 0 && i < sq->rows.count; i++)
        if (sq->rows.row[i].seq == req->token)
            return false;
    return req->token != 0 || (req->stamp != 0 && req->stamp != stamp);
}

/* In one transaction: ask to be told, and see that it has not happened yet.  1 if it has. */
static int ask_outside(struct hf_sq *sq, const struct hf_req *req)
{
    uint64_t stamp = 0;

    int r = hf_sq_session(sq);
    if (r == 0)
        r = hf_sq_begin(sq);
    if (r < 0)
        return r;
    r = ask_to_be_told(sq, req->name, req->token == 0);
    if (r == 0)
        r = hf_sq_rows_all(sq, req->name, &stamp);
    if (r == 0)
        r = is_over(sq, req, stamp);
    return hf_sq_end(sq, r);
}

static int keep_outside(struct hf_sq *sq, struct hf_req *req)
{
    struct hf_sq_watch *watch = calloc(1, sizeof *watch);
    if (watch == NULL)
        return hf_sq_fail(sq, HF_ENOMEM, "out of memory");

    int r = 0;
    for (size_t i = 0; r == 0 && i < sq->rows.count; i++)
        if (req->token == 0 || req->token == sq->rows.row[i].seq)
            r = hf_sq_tie(sq, &watch->ties, &sq->rows.row[i]);
    if (r == 0)
        r = keep_eyes(sq, &watch->ties);
    if (r != 0) {
        free(watch->ties.tie);
        free(watch);
        return r;
    }
    watch->req = req;
    watch->line_hash = hf_sq_line_hash(req->name);
    watch->next = sq->watches;
    watch->prev = &sq->watches;
    if (watch->next != NULL)
        watch->next->prev = &watch->next;
    sq->watches = watch;
    req->work = watch;
    hf_sq_patrol_start(sq);
    return 0;
}

static bool watch_outside(struct hf_sq *sq, struct hf_req *req, int *status)
{
    int r = ask_outside(sq, req);

    if (r == 0)
        r = keep_outside(sq, req);
    *status = r < 0 ? r : 0;
    return r == 0;
}

bool hf_sq_watch(struct hf_sq *sq, struct hf_req *req, int *status)
{
    struct hf_sq_own *own = hf_sq_owns_find(&sq->owns, req->id);

    if (req->id == 0)
        return watch_outside(sq, req, status);
    if (own != NULL)
        return watch_own(sq, req, own, status);
    req->standing = hf_sq_no_place;
    *status = 0;
    return false;
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
