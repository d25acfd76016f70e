/* read.c - READ: our own place and what is ahead of it, or the whole line. */
#include "store/sqlite/inner.h"

#include "holdfast.h"

#include <assert.h>

/* Those ahead have died, and nobody has written that down.  The dead are removed,
 * and if nobody alive is in our way we are granted like anybody. */
static int sweep_for_own(struct hf_sq *sq, struct hf_sq_own *own, struct hf_sq_row *mine)
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
static int read_as_holder(struct hf_sq *sq, struct hf_sq_own *own)
{
    int r = hf_sq_patrol_confirm(sq, own);
    hf_sq_rows_clear(sq);
    if (r == 0 && own->shape.weight < own->shape.capacity)
        r = hf_sq_sum_up(sq, own->line, own->seq);
    assert(r < 0 || own->held);
    return r < 0 ? r : 1;
}

/* The line changed while we looked. */
#define AGAIN 2

/* Still waiting.  1, AGAIN if not even that is so any more, or an error. */
static int read_as_waiter(struct hf_sq *sq, struct hf_sq_own *own)
{
    struct hf_sq_view view;

    int r = hf_sq_rows_ahead_of_own(sq, own, &view);
    if (r == 0 && view.granted)
        return AGAIN;
    if (r == 0)
        r = hf_sq_rows_keep(sq, own);
    return r < 0 ? r : 1;
}

/* `ours`: nobody alive is in our way. */
static int read_past_dead(struct hf_sq *sq, struct hf_sq_own *own, bool ours,
                          struct hf_sq_row *mine)
{
    int r = sweep_for_own(sq, own, mine);

    if (r == 0 || r == HF_SQ_STALE || r == HF_SQ_SHUT)
        return r;
    /* It is ours all the same, though nobody can write it down: the disk is
     * full, say.  Only a slot cannot be had without being written. */
    if (r < 0 && ours && hf_shape_has_slots(&own->shape))
        return r;
    if (r < 0 ? ours : mine->granted != 0)
        return read_as_holder(sq, own);
    return read_as_waiter(sq, own);
}

/* Our own place as it is now: 1, AGAIN, or 0 if it was taken from us. */
static int read_once(struct hf_sq *sq, struct hf_sq_own *own, struct hf_sq_row *mine)
{
    struct hf_sq_view view;

    assert(own->seq != 0 && !sq->live.taken);
    own->woken = false;
    hf_sq_rows_clear(sq);
    int r = hf_sq_row_find(sq, own->line, own->seq, mine);
    if (r <= 0)
        return r;
    if (mine->granted != 0)
        return read_as_holder(sq, own);
    /* Only what is in the way: to count those ahead takes long in a long line. */
    r = hf_sq_rows_ahead(sq, own->line, own->seq, &own->shape, &view);
    if (r < 0)
        return r;
    if (view.granted || sq->dead.count > 0 || own->alarmed)
        return read_past_dead(sq, own, view.granted, mine);
    return read_as_waiter(sq, own);
}

static int read_own(struct hf_sq *sq, struct hf_sq_own *own, struct hf_sq_row *mine)
{
    int r = AGAIN;

    for (int tries = 0; tries < 100 && r == AGAIN; tries++)
        r = read_once(sq, own, mine);
    if (r == AGAIN)
        r = hf_sq_fail(sq, HF_EDOWN, "\"%.120s\" changes too fast", own->line);
    return r;
}

int hf_sq_answer_own(struct hf_sq *sq, struct hf_sq_own *own, struct hf_req *req)
{
    struct hf_sq_row mine;

    int r = read_own(sq, own, &mine);
    if (r == 1)
        return hf_sq_answer(sq, req, &mine);
    if (r < 0)
        return r;
    hf_sq_lose_own(sq, own);
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
