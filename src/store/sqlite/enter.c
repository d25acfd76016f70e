/* enter.c - ENTER: taking a place at the end of a line. */
#include "store/sqlite/inner.h"

#include "holdfast.h"

#include <assert.h>
#include <string.h>

#define END INT64_MAX /* behind every ticket */

static int read_from_end(struct hf_sq *sq, const struct hf_req *req,
                         struct hf_sq_view *ret)
{
    return hf_sq_rows_ahead(sq, req->name, END, &req->shape, ret);
}

/* There is no place for us: what is in the way, and if we shall wait outside, what
 * the line looked like before. */
static int read_from_outside(struct hf_sq *sq, struct hf_req *req, struct hf_sq_view *ret)
{
    int r = req->shape.claim ? hf_sq_rows_all(sq, req->name, &req->stamp) : 0;

    if (r == 0)
        r = hf_sq_sum_outside(sq, req->name);
    return r < 0 ? r : read_from_end(sq, req, ret);
}

/* A try against a lock that is held should cost nobody anything: it is refused
 * after one read, without session or gate.  1: it was. */
static int refuse_early(struct hf_sq *sq, struct hf_req *req)
{
    struct hf_sq_view view = { 0 };

    int r = hf_sq_connect(sq, false);
    if (r == HF_ENOTFOUND)
        return 0;
    if (r == 0)
        r = hf_sq_current(sq) ? read_from_end(sq, req, &view) : HF_SQ_STALE;
    if (r == 0 && !view.granted)
        r = read_from_outside(sq, req, &view);
    if (r < 0 || view.granted)
        return r;
    r = hf_sq_answer(sq, req, NULL);
    return r < 0 ? r : 1;
}

static int refuse_mismatch(struct hf_sq *sq, const char *line,
                           const struct hf_sq_row *row)
{
    const struct hf_shape *shape = &row->shape;

    assert(sq->live.taken); /* it is still there: we refuse because of it */
    if (hf_shape_strange(shape))
        return hf_store_strange(&sq->base, row->seq);
    if (hf_shape_has_slots(shape))
        return hf_sq_fail(sq, HF_EMISMATCH, "\"%.120s\" is in use as a semaphore of %u",
                          line, shape->capacity);
    return hf_sq_fail(sq, HF_EMISMATCH, "\"%.120s\" is in use as a %s", line,
                      hf_shape_kind(shape));
}

/* If so many wait already that nobody else may. */
static int keep_limit(struct hf_sq *sq, const struct hf_req *req, struct hf_sq_view *ret)
{
    int r = hf_sq_is_full(sq, req->name, req->limit);

    if (r == 1)
        return hf_sq_fail(sq, HF_EFULL,
                          "%llu wait for \"%.120s\" already: the limit is %u",
                          (unsigned long long)sq->sum.waiting, req->name, req->limit);
    return r < 0 ? r : read_from_end(sq, req, ret);
}

/* No number as high as ours has been given out.  A row that has one was written by another
 * program: it goes with the dead, unless somebody locked its byte. */
static int note_impossible(struct hf_sq *sq, uint64_t seq)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < sq->rows.count; i++) {
        const struct hf_sq_row *row = &sq->rows.row[i];
        if (row->seq < seq)
            continue;
        r = hf_sq_live_has(&sq->live, row->seq) ? hf_store_strange(&sq->base, row->seq)
                                                : hf_sq_rows_add(sq, &sq->dead, row);
    }
    return r;
}

/* Inside the transaction: 1 if there is a place for us, 0 if it is refused. */
static int take_place(struct hf_sq *sq, struct hf_req *req, struct hf_sq_row *mine)
{
    struct hf_sq_view view;

    assert(sq->live.taken); /* nobody enters between what we read and our row */
    int r = read_from_end(sq, req, &view);
    if (r == 0)
        r = note_impossible(sq, mine->seq);
    if (r == 0 && sq->dead.count > 0) {
        r = hf_sq_sweep(sq, req->name);
        if (r == 0)
            r = read_from_end(sq, req, &view);
    }
    if (r < 0)
        return r;
    if (req->only_free && !view.granted)
        return read_from_outside(sq, req, &view);
    if (req->limit != 0 && !view.granted && !view.mismatch) {
        r = keep_limit(sq, req, &view);
        if (r < 0)
            return r;
    }
    /* Not even for a moment: those behind would be told that they do not fit. */
    assert(!view.granted || !view.mismatch);
    if (view.mismatch)
        return refuse_mismatch(sq, req->name, &sq->rows.row[0]);
    mine->queued = hf_wall_us();
    mine->granted = view.granted ? mine->queued : 0;
    assert(mine->slot == -1);
    if (view.granted && hf_shape_has_slots(&req->shape))
        r = hf_sq_free_slot(sq, &mine->slot);
    if (r == 0)
        r = hf_sq_place_add(sq, req, mine);
    if (r == 0)
        r = hf_sq_record(sq, req->name, mine->seq,
                         view.granted ? HF_PAST_GRANTED : HF_PAST_ENTERED, "");
    if (r == 0)
        r = hf_sq_tell_watchers(sq, req->name, false);
    if (r == 0 && view.granted)
        hf_sq_sum_rows(sq, mine);
    else if (r == 0)
        r = hf_sq_sum_last(sq, req->name, mine);
    return r < 0 ? r : 1;
}

/* The byte is locked before the row can be seen: a row without it is a dead
 * ticket. */
static int enter_line(struct hf_sq *sq, struct hf_req *req, struct hf_sq_own *own,
                      struct hf_sq_row *mine)
{
    assert(sq->live.taken && own->seq == mine->seq);
    int r = take_place(sq, req, mine);
    if (r != 1)
        return r;
    if (!hf_sq_live_hold(&sq->live, mine->seq))
        return hf_sq_fail(sq, HF_ESTORE, "the kernel has no room for another file lock");
    r = hf_sq_rows_keep(sq, own);
    if (r == 0)
        r = hf_sq_answer(sq, req, mine);
    if (r < 0)
        hf_sq_live_drop(&sq->live, mine->seq);
    return r < 0 ? r : 1;
}

int hf_sq_enter_inside(struct hf_sq *sq, struct hf_req *req, uint64_t number,
                       struct hf_sq_own **ret)
{
    struct hf_sq_row mine = {
        .seq = number, .sid = sq->sid, .shape = req->shape, .slot = -1
    };
    struct hf_sq_own *own = hf_sq_own_new(&sq->owns, req->id, req->name, &req->shape);
    if (own == NULL)
        return hf_sq_fail(sq, HF_ENOMEM, "out of memory");

    own->seq = number;
    int r = enter_line(sq, req, own, &mine);
    if (r != 1) {
        hf_sq_own_free(own);
        return r;
    }
    hf_sq_owns_add(&sq->owns, own);
    hf_sq_patrol_start(sq);
    if (mine.granted != 0)
        hf_sq_patrol_holder(sq, own);
    *ret = own;
    return 1;
}

void hf_sq_enter_undo(struct hf_sq *sq, struct hf_sq_own *own)
{
    hf_sq_live_drop(&sq->live, own->seq);
    hf_sq_owns_drop(&sq->owns, own, false);
}

static int enter_new(struct hf_sq *sq, struct hf_req *req)
{
    struct hf_sq_own *own = NULL;
    uint64_t          number = 0;

    int r = hf_sq_session(sq);
    if (r == 0)
        r = hf_sq_begin_drawn(sq, &number);
    if (r < 0)
        return r;
    r = hf_sq_enter_inside(sq, req, number, &own);
    if (r != 1) {
        hf_sq_abort(sq);
        return r < 0 ? r : hf_sq_answer(sq, req, NULL);
    }
    r = hf_sq_commit(sq);
    if (r < 0) {
        hf_sq_clear_answer(req);
        hf_sq_enter_undo(sq, own);
    }
    return r;
}

int hf_sq_enter(struct hf_sq *sq, struct hf_req *req)
{
    struct hf_sq_own *own = hf_sq_owns_find(&sq->owns, req->id);

    assert(req->id != 0);
    if (own != NULL) /* a repeat */
        return hf_sq_answer_own(sq, own, req);
    if (hf_sq_owns_lost(&sq->owns, req->id)) {
        hf_sq_rows_clear(sq);
        return hf_sq_answer(sq, req, NULL);
    }
    if (req->only_free) {
        int r = refuse_early(sq, req);
        if (r != 0)
            return r < 0 ? r : 0;
    }
    return enter_new(sq, req);
}
