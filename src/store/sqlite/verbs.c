/* verbs.c - READ, LEAVE, PROVE; ENTER is in enter.c, the rest in amend.c. */
#include "store/sqlite/inner.h"

#include "holdfast.h"

#include <assert.h>

/* ---- READ --------------------------------------------------------------------- */

/* Whatever the database says, the ticket is ours no more. */
static void lose_own(struct hf_sq *sq, struct hf_sq_own *own)
{
    hf_sq_live_drop(&sq->live, own->seq);
    hf_sq_watches_drop_own(sq, own);
    hf_sq_owns_drop(&sq->owns, own, true);
}

/* Those ahead have died, and nobody has written that down.  The dead are removed,
 * and if nobody alive is in our way we are granted like anybody. */
static int settle_for(struct hf_sq *sq, struct hf_sq_own *own, struct hf_sq_row *mine)
{
    struct hf_sq_view view;
    bool              everywhere = own->alarmed;

    int r = hf_sq_begin(sq);
    if (r < 0)
        return r;
    own->alarmed = false;
    if (everywhere)
        r = hf_sq_find_dead(sq, own->line);
    else
        r = hf_sq_rows_ahead(sq, own->line, own->seq, &own->shape, &view);
    if (r == 0)
        r = hf_sq_sweep(sq, own->line);
    if (r == 0)
        r = hf_sq_row_find(sq, own->line, own->seq, mine);
    if (r < 0) {
        hf_sq_abort(sq);
        return r;
    }
    int found = r;
    r = hf_sq_commit(sq);
    return r < 0 ? r : found;
}

/* Granted: nothing is in our way, though others may be ahead, if we leave them
 * room.  1, or an error. */
static int look_as_holder(struct hf_sq *sq, struct hf_sq_own *own)
{
    int r = hf_sq_vigil_hold(sq, own);
    hf_sq_rows_clear(sq);
    if (r == 0 && own->shape.weight < own->shape.capacity)
        r = hf_sq_sum_up(sq, own->line, own->seq);
    return r < 0 ? r : 1;
}

/* The line changed while we looked. */
#define AGAIN 2

/* Still waiting.  1, AGAIN if not even that is so any more, or an error. */
static int look_as_waiter(struct hf_sq *sq, struct hf_sq_own *own)
{
    struct hf_sq_view view;

    int r = hf_sq_look_ahead(sq, own, &view);
    if (r == 0 && view.granted)
        return AGAIN;
    if (r == 0)
        r = hf_sq_rows_keep(sq, own);
    return r < 0 ? r : 1;
}

/* `ours`: nobody alive is in our way. */
static int look_past_dead(struct hf_sq *sq, struct hf_sq_own *own, bool ours,
                          struct hf_sq_row *mine)
{
    int r = settle_for(sq, own, mine);

    if (r == 0 || r == HF_SQ_STALE || r == HF_SQ_SHUT)
        return r;
    /* It is ours all the same, though nobody can write it down: the disk is
     * full, say.  Only a slot cannot be had without being written. */
    if (r < 0 && ours && hf_shape_has_slots(&own->shape))
        return r;
    if (r < 0 ? ours : mine->granted != 0)
        return look_as_holder(sq, own);
    return look_as_waiter(sq, own);
}

/* Not at once: whoever is just leaving will have written it in a moment, and
 * who came for a short time is gone by then. */
#define TIDY_SOON  (2 * HF_MS)
#define TIDY_AGAIN HF_SEC

void hf_sq_tidy(struct hf_sq *sq)
{
    struct hf_sq_row mine;
    int              r = 0;

    if (sq->now < sq->tidy)
        return;
    sq->tidy = HF_NEVER;
    for (struct hf_sq_own *own = sq->owns.first; own != NULL && r >= 0; own = own->next) {
        if (!own->untidy)
            continue;
        r = hf_sq_row_find(sq, own->line, own->seq, &mine);
        if (r == 1 && mine.granted == 0)
            r = settle_for(sq, own, &mine);
        own->untidy = r < 0;
    }
    if (r < 0)
        sq->tidy = sq->now + TIDY_AGAIN;
}

static void leave_untidy(struct hf_sq *sq, struct hf_sq_own *own)
{
    own->untidy = true;
    if (sq->tidy == HF_NEVER)
        sq->tidy = sq->now + TIDY_SOON;
}

/* Our own place as it is now: 1, AGAIN, or 0 if it was taken from us. */
static int look_once(struct hf_sq *sq, struct hf_sq_own *own, struct hf_sq_row *mine)
{
    struct hf_sq_view view;

    own->woken = false;
    hf_sq_rows_clear(sq);
    int r = hf_sq_row_find(sq, own->line, own->seq, mine);
    if (r <= 0)
        return r;
    if (mine->granted != 0)
        return look_as_holder(sq, own);
    r = hf_sq_look_ahead(sq, own, &view);
    if (r < 0)
        return r;
    if (view.granted && !hf_shape_has_slots(&own->shape)) {
        leave_untidy(sq, own); /* only a slot must be written down to be had */
        return look_as_holder(sq, own);
    }
    if (view.granted || sq->dead.count > 0 || own->alarmed)
        return look_past_dead(sq, own, view.granted, mine);
    r = hf_sq_rows_keep(sq, own);
    return r < 0 ? r : 1;
}

static int look(struct hf_sq *sq, struct hf_sq_own *own, struct hf_sq_row *mine)
{
    int r = AGAIN;

    for (int tries = 0; tries < 100 && r == AGAIN; tries++)
        r = look_once(sq, own, mine);
    if (r == AGAIN)
        r = hf_sq_fail(sq, HF_EDOWN, "\"%.120s\" changes too fast", own->line);
    return r;
}

int hf_sq_answer_own(struct hf_sq *sq, struct hf_sq_own *own, struct hf_req *req)
{
    struct hf_sq_row mine;

    int r = look(sq, own, &mine);
    if (r == 1)
        return hf_sq_answer(sq, req, &mine);
    if (r < 0)
        return r;
    lose_own(sq, own);
    hf_sq_rows_clear(sq);
    return hf_sq_answer(sq, req, NULL);
}

/* Without a place, and so without a shape to go by: the whole line. */
static int answer_line(struct hf_sq *sq, struct hf_req *req)
{
    int r = hf_sq_connect(sq, false);

    if (r == HF_ENOTFOUND) {
        hf_sq_rows_clear(sq);
        return hf_sq_answer(sq, req, NULL);
    }
    if (r == 0)
        r = hf_sq_list(sq, req);
    req->ahead = req->snapshot.count;
    return r;
}

int hf_sq_read(struct hf_sq *sq, struct hf_req *req)
{
    struct hf_sq_own *own = hf_sq_owns_find(&sq->owns, req->id);

    return own != NULL ? hf_sq_answer_own(sq, own, req) : answer_line(sq, req);
}

/* ---- PROVE -------------------------------------------------------------------- */

static int prove_own(struct hf_sq *sq, struct hf_sq_own *own)
{
    struct hf_sq_row mine;

    int r = hf_sq_row_find(sq, own->line, own->seq, &mine);
    if (r < 0 || (r == 1 && hf_sq_live_has(&sq->live, own->seq)))
        return r < 0 ? r : 0;
    lose_own(sq, own);
    return HF_ELOST;
}

/* Alive, and nobody in its way.  What is granted need not be written down yet,
 * but for a slot. */
static int prove_grant(struct hf_sq *sq, const char *line, uint64_t seq)
{
    struct hf_sq_row  row;
    struct hf_sq_view view;

    int r = hf_sq_row_find(sq, line, seq, &row);
    if (r < 0)
        return r;
    if (r == 0 || !hf_sq_live_has(&sq->live, seq))
        return HF_ELOST;
    if (hf_shape_strange(&row.shape))
        return hf_store_strange(&sq->base, seq);
    if (row.granted != 0)
        return 0;
    r = hf_sq_rows_ahead(sq, line, seq, &row.shape, &view);
    if (r < 0)
        return r;
    return view.granted && !hf_shape_has_slots(&row.shape) ? 0 : HF_ELOST;
}

int hf_sq_prove(struct hf_sq *sq, struct hf_req *req)
{
    struct hf_sq_own *own = hf_sq_owns_find(&sq->owns, req->id);
    int               r = HF_ELOST;

    if (req->id == 0)
        r = hf_sq_connect(sq, false);
    if (r == 0 || own != NULL) {
        if (!hf_sq_current(sq))
            return HF_SQ_STALE;
        r = own != NULL ? prove_own(sq, own) : prove_grant(sq, req->name, req->token);
    }
    if (r == HF_ELOST || r == HF_ENOTFOUND)
        r = hf_sq_fail(sq, HF_ELOST, "that place in \"%.120s\" is gone", req->name);
    return r;
}

/* ---- LEAVE -------------------------------------------------------------------- */

/* Remove the row and say who is next.  1 if it was there.
 *
 * As soon as we are sure that it was, it is given up and the next are told:
 * while they wake up, we write.  Whoever is quicker than that, or if it cannot
 * be written, finds our row, but its byte free: that is all he needs. */
static int remove_own(struct hf_sq *sq, const struct hf_sq_own *own)
{
    int r = hf_sq_begin(sq);
    if (r < 0)
        return r;
    r = hf_sq_db_step(&sq->db, hf_sq_db_bind(&sq->db, HF_SQ_REMOVE, own->line, own->seq));
    if (r == 0 && sqlite3_changes(sq->db.handle) == 0) {
        hf_sq_abort(sq);
        return 0;
    }
    if (r == 0)
        r = hf_sq_departed(sq, own->line, own->seq);
    if (r < 0) {
        hf_sq_abort(sq);
        return r;
    }
    hf_sq_live_drop(&sq->live, own->seq);
    hf_sq_tell_all(sq);
    hf_sq_commit(sq);
    return 1;
}

/* The row cannot be removed: full disk, or a stopped process in the gate.  We
 * let go of the byte, which is what counts, and wake those behind us. */
static int leave_anyway(struct hf_sq *sq, const struct hf_sq_own *own)
{
    struct hf_sq_row mine;

    int r = hf_sq_row_find(sq, own->line, own->seq, &mine);
    hf_sq_live_drop(&sq->live, own->seq);
    sq->news_count = 0;
    if (r == 1 && hf_sq_tell_followers(sq, own->line, own->seq) == 0)
        hf_sq_tell_all(sq);
    return r == 1 ? 1 : 0; /* what cannot be shown to be ours counts as lost */
}

static int leave(struct hf_sq *sq, struct hf_sq_own *own)
{
    int r = remove_own(sq, own);

    assert(!sq->live.taken);
    if (r == HF_SQ_STALE || r == HF_SQ_SHUT)
        return r;
    if (r < 0)
        r = leave_anyway(sq, own);
    if (r == 0) {
        lose_own(sq, own);
        return hf_sq_fail(sq, HF_ELOST, "the place in the line was taken away");
    }
    hf_sq_watches_drop_own(sq, own);
    hf_sq_owns_drop(&sq->owns, own, false);
    return 0;
}

int hf_sq_leave(struct hf_sq *sq, struct hf_req *req)
{
    struct hf_sq_own *own = hf_sq_owns_find(&sq->owns, req->id);

    if (own != NULL)
        return leave(sq, own);
    if (hf_sq_owns_lost(&sq->owns, req->id))
        return hf_sq_fail(sq, HF_ELOST, "the place in the line was lost before");
    return 0; /* a repeat, or nothing ever came of the ENTER */
}

void hf_sq_leave_all(struct hf_sq *sq)
{
    while (sq->owns.first != NULL)
        if (leave(sq, sq->owns.first) == HF_SQ_STALE)
            return; /* what is lost goes with the session */
}
