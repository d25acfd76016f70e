/* enter.c - ENTER: taking a place at the end of a line. */
#include "store/sqlite/db/db.h"
#include "store/sqlite/files/files.h"
#include "store/sqlite/files/live.h"
#include "store/sqlite/history/history.h"
#include "store/sqlite/inner.h"
#include "store/sqlite/line/line.h"
#include "store/sqlite/line/own.h"
#include "store/sqlite/link.h"

#include "holdfast.h"

#include <assert.h>
#include <string.h>

#define END INT64_MAX /* behind every place */

static int read_from_end(struct hf_sq *sq, const struct hf_req *req,
                         struct hf_sq_view *ret)
{
    return hf_sq_judge(sq, req->name, END, &req->shape, ret);
}

/* The caller wants a free lock only, and it is taken. */
static int refuse(const struct hf_sq *sq, struct hf_req *req)
{
    assert(sq->rows.count > 0);
    req->standing = hf_sq_no_place;
    req->standing.token = sq->rows.row[sq->rows.count - 1].seq;
    return HF_EBUSY;
}

/* A try for a lock that is held should cost others nothing: it is refused after one read,
 * without a session and without the write lock. */
static int refuse_early(struct hf_sq *sq, struct hf_req *req)
{
    struct hf_sq_view view;

    int r = hf_sq_connect(sq, false);
    if (r < 0)
        return r == HF_ENOTFOUND ? 0 : r;
    r = hf_sq_is_current(sq) ? read_from_end(sq, req, &view) : HF_SQ_STALE;
    return r == 0 && view.verdict == HF_BLOCKED ? refuse(sq, req) : r;
}

/* No place has a number as high as ours.  A row with one was written by another
 * program: it is swept like a dead place, unless its liveness lock is held. */
static int note_impossible_rows(struct hf_sq *sq, uint64_t seq)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < sq->rows.count; i++) {
        const struct hf_sq_row *row = &sq->rows.row[i];
        if (row->seq < seq)
            continue;
        r = hf_sq_live_is_locked(&sq->live, row->seq)
                ? hf_store_invalid(&sq->base, row->seq)
                : hf_sq_rows_add(sq, &sq->dead, row);
    }
    return r;
}

/* Does the running total say that there is room?  Then we need not read the line,
 * unless we need a slot. */
static bool has_room(const struct hf_sq_total *total, const struct hf_sq_row *mine)
{
    struct hf_sum ahead = { .count = total->places,
                            .weight = total->weight,
                            .kind = total->last.shape };

    return !hf_shape_has_slots(&mine->shape) && total->last.seq < mine->seq &&
           hf_sum_judge(&ahead, &mine->shape) == HF_PASSES;
}

/* Sweep the dead, and find out who blocks a place at the end of the line. */
static int judge_end(struct hf_sq *sq, const struct hf_req *req,
                     const struct hf_sq_row *mine, struct hf_sq_view *ret)
{
    *ret = (struct hf_sq_view){ .verdict = HF_PASSES };
    sq->rows.count = 0;
    int r = hf_sq_total_open(sq, req->name);
    if (r < 0 || has_room(&sq->total, mine))
        return r;
    r = read_from_end(sq, req, ret);
    if (r == 0)
        r = note_impossible_rows(sq, mine->seq);
    if (r < 0 || sq->dead.count == 0)
        return r;
    r = hf_sq_sweep(sq, req->name);
    return r < 0 ? r : read_from_end(sq, req, ret);
}

/* Refuse the place if too many wait already. */
static int check_limit(struct hf_sq *sq, const struct hf_req *req, struct hf_sq_view *ret)
{
    int r = hf_sq_is_full(sq, req->name, req->limit);

    if (r == 1)
        return hf_sq_fail(sq, HF_EFULL,
                          "%llu wait for \"%.120s\" already: the limit is %u",
                          (unsigned long long)sq->total.waits, req->name, req->limit);
    return r < 0 ? r : read_from_end(sq, req, ret);
}

/* May it join the line? */
static int admit(struct hf_sq *sq, struct hf_req *req, struct hf_sq_view *view)
{
    /* Not even for a moment: places behind it would be refused as a mismatch. */
    int r = hf_sq_mismatch(sq, req->name, view);

    if (r < 0 || view->verdict == HF_PASSES)
        return r;
    if (req->only_free)
        return refuse(sq, req);
    return req->limit != 0 ? check_limit(sq, req, view) : 0;
}

static int write_place(struct hf_sq *sq, const struct hf_req *req, bool holds,
                       struct hf_sq_row *mine)
{
    int r = 0;

    mine->queued = hf_wall_us();
    mine->granted = holds ? mine->queued : 0;
    assert(mine->slot == -1);
    if (holds && hf_shape_has_slots(&req->shape))
        r = hf_sq_free_slot(sq, &mine->slot);
    if (r == 0)
        r = hf_sq_place_add(sq, req, mine);
    if (r == 0)
        r = hf_sq_history_add(sq, req->name, mine->seq,
                              holds ? HF_HISTORY_GRANTED : HF_HISTORY_ENTERED, "");
    return r < 0 ? r : hf_sq_total_close(sq, req->name);
}

/* Inside the transaction. */
static int take_place(struct hf_sq *sq, struct hf_req *req, struct hf_sq_own *own)
{
    struct hf_sq_row mine = {
        .seq = own->seq, .sid = sq->sid, .shape = req->shape, .slot = -1
    };
    struct hf_sq_view view;

    assert(sq->live.locked); /* nobody enters between our reading and our row */
    int r = judge_end(sq, req, &mine, &view);
    if (r == 0)
        r = admit(sq, req, &view);
    if (r < 0)
        return r;
    bool holds = view.verdict == HF_PASSES;
    r = write_place(sq, req, holds, &mine);
    if (r == 0 && !holds)
        r = hf_sq_tie_blockers(sq, own, &view);
    own->last = (struct hf_standing){
        .state = holds ? HF_STAND_HOLDS : HF_STAND_WAITS,
        .token = mine.seq,
        .weight = mine.shape.weight,
        .slot = mine.slot,
        .ahead = holds ? 0 : sq->total.places - 1,
    };
    return r;
}

int hf_sq_enter_inside(struct hf_sq *sq, struct hf_req *req, uint64_t number,
                       struct hf_sq_own **ret)
{
    struct hf_sq_own *own = hf_sq_own_new(&sq->owns, req->id, req->name, &req->shape);
    if (own == NULL)
        return hf_sq_fail(sq, HF_ENOMEM, "out of memory");

    own->seq = number;
    int r = take_place(sq, req, own);
    /* Lock it before the row becomes visible: a row without liveness lock is a dead
     * place. */
    if (r == 0 && !hf_sq_live_lock(&sq->live, own->seq))
        r = hf_sq_fail(sq, HF_ESTORE, "the kernel has no room for another file lock");
    if (r < 0) {
        hf_sq_own_free(own);
        return r;
    }
    hf_sq_owns_add(&sq->owns, own);
    if (own->last.state == HF_STAND_HOLDS)
        hf_sq_file_watch_holder(sq);
    else
        hf_sq_file_watch_start(sq);
    req->standing = own->last;
    *ret = own;
    return 0;
}

void hf_sq_enter_undo(struct hf_sq *sq, struct hf_sq_own *own)
{
    hf_sq_live_unlock(&sq->live, own->seq);
    hf_sq_owns_drop(&sq->owns, own, false);
}

static int enter_new(struct hf_sq *sq, struct hf_req *req)
{
    struct hf_sq_own *own = NULL;
    uint64_t          number = 0;

    int r = hf_sq_session(sq);
    if (r == 0)
        r = hf_sq_begin_with_number(sq, &number);
    if (r < 0)
        return r;
    r = hf_sq_enter_inside(sq, req, number, &own);
    r = hf_sq_end(sq, r);
    if (r < 0 && own != NULL)
        hf_sq_enter_undo(sq, own);
    return r;
}

int hf_sq_enter(struct hf_sq *sq, struct hf_req *req)
{
    struct hf_sq_own *own = hf_sq_owns_find(&sq->owns, req->id);

    assert(req->id != 0);
    if (own != NULL || hf_sq_owns_lost(&sq->owns, req->id)) /* a repeat */
        return hf_sq_own_answer(sq, own, req);
    int r = req->only_free ? refuse_early(sq, req) : 0;
    return r < 0 ? r : enter_new(sq, req);
}
