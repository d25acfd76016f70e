/* standing.c - how our own place stands. */
#include "store/sqlite/db/db.h"
#include "store/sqlite/files/files.h"
#include "store/sqlite/inner.h"
#include "store/sqlite/line/line.h"
#include "store/sqlite/line/own.h"

#include "holdfast.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

const struct hf_standing hf_sq_no_place = { .state = HF_STAND_NONE, .slot = -1 };

/* The reason why somebody asks for it, into own->asked. */
static int read_asked(struct hf_sq *sq, struct hf_sq_own *own)
{
    sqlite3_stmt *query = hf_sq_db_bind(&sq->db, HF_SQ_ASKED, own->line, own->seq);

    free(own->asked);
    own->asked = NULL;
    int r = hf_sq_db_step(&sq->db, query);
    if (r != 1)
        return r;
    const char *why = (const char *)sqlite3_column_text(query, 0);
    own->asked = why != NULL ? strdup(why) : NULL;
    sqlite3_reset(query);
    return own->asked != NULL ? 0 : hf_sq_fail(sq, HF_ENOMEM, "out of memory");
}

/* We are granted.  1, or an error. */
static int read_as_holder(struct hf_sq *sq, struct hf_sq_own *own, int slot)
{
    int r = hf_sq_file_watch_confirm(sq, own);
    if (r == 0)
        r = read_asked(sq, own);
    if (r < 0)
        return r;
    own->watch.ties.count = 0;
    own->last = (struct hf_standing){ .state = HF_STAND_HOLDS,
                                      .token = own->seq,
                                      .weight = own->shape.weight,
                                      .slot = slot,
                                      .asked = own->asked };
    return 1;
}

/* The places in sq->rows block us.  1, or an error. */
static int read_as_waiter(struct hf_sq *sq, struct hf_sq_own *own,
                          const struct hf_sq_view *view)
{
    uint64_t ahead = 0;

    int r = hf_sq_mismatch(sq, own->line, view);
    if (r == 0)
        r = hf_sq_tie_blockers(sq, own, view);
    if (r == 0)
        r = hf_sq_count_ahead(sq, own->line, own->seq, &ahead);
    if (r < 0)
        return r;
    own->last = (struct hf_standing){ .state = HF_STAND_WAITS,
                                      .token = own->seq,
                                      .weight = own->shape.weight,
                                      .slot = -1,
                                      .ahead = ahead };
    return 1;
}

/* Places ahead have died, and nobody has removed them yet.  Remove them; if no living
 * place blocks us, this grants our place like any other. */
static int sweep_for_own(struct hf_sq *sq, const struct hf_sq_own *own)
{
    struct hf_sq_view view;

    int r = hf_sq_begin(sq);
    if (r < 0)
        return r;
    r = hf_sq_judge(sq, own->line, own->seq, &own->shape, &view);
    if (r == 0)
        r = hf_sq_sweep(sq, own->line);
    return hf_sq_end(sq, r);
}

/* The line has changed: read it again. */
#define AGAIN 2

/* Read our place: 1, AGAIN, or 0 if it was taken from us. */
static int read_once(struct hf_sq *sq, struct hf_sq_own *own)
{
    struct hf_sq_row  mine;
    struct hf_sq_view view;

    assert(own->seq != 0 && !sq->live.locked);
    own->woken = false;
    int r = hf_sq_row_find(sq, own->line, own->seq, &mine);
    if (r <= 0)
        return r;
    if (mine.granted != 0)
        return read_as_holder(sq, own, mine.slot);
    r = hf_sq_judge(sq, own->line, own->seq, &own->shape, &view);
    if (r < 0)
        return r;
    bool passes = view.verdict == HF_PASSES;
    if (!passes && sq->dead.count == 0)
        return read_as_waiter(sq, own, &view);
    r = sweep_for_own(sq, own);
    if (r == 0)
        return AGAIN;
    /* The grant cannot be written, as on a full disk.  If nothing blocks us, the lock
     * is ours all the same; but a slot must be written. */
    if (r == HF_SQ_STALE || r == HF_SQ_LOCKED ||
        (passes && hf_shape_has_slots(&own->shape)))
        return r;
    return passes ? read_as_holder(sq, own, -1) : read_as_waiter(sq, own, &view);
}

int hf_sq_own_read(struct hf_sq *sq, struct hf_sq_own *own)
{
    int r = AGAIN;

    for (int tries = 0; tries < 100 && r == AGAIN; tries++)
        r = read_once(sq, own);
    if (r == AGAIN)
        r = hf_sq_fail(sq, HF_EDOWN, "\"%.120s\" changes too fast", own->line);
    if (r < 0)
        own->woken = true; /* we do not know how it stands */
    if (r == 0)
        hf_sq_own_end(sq, own, true);
    return r;
}

int hf_sq_own_answer(struct hf_sq *sq, struct hf_sq_own *own, struct hf_req *req)
{
    int r = own != NULL ? hf_sq_own_read(sq, own) : 0;

    if (r >= 0)
        req->standing = r == 1 ? own->last : hf_sq_no_place;
    return r < 0 ? r : 0;
}
