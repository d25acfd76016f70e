/* history.c - HISTORY: what happened, as far as it is kept; and how much that is. */
#include "store/sqlite/inner.h"

#include "holdfast.h"
#include "store/param.h"

#include <stdlib.h>
#include <string.h>

/* ---- How much is kept ----------------------------------------------------------- */

int hf_sq_history_read(struct hf_sq *sq, const struct hf_config *config)
{
    sq->keep = -1;
    if (config->will != NULL) /* who executes a will does only that */
        return 0;
    return hf_param_history(config, &sq->keep, sq->base.errmsg);
}

/* The gate is all that is needed: those who change lines read the head behind it. */
static int change_kept(struct hf_sq *sq, uint64_t keep)
{
    int r = hf_sq_gate(sq);
    if (r < 0)
        return r;
    r = hf_sq_current(sq) ? hf_sq_ring_resize(sq, keep) : HF_SQ_STALE;
    hf_sq_gate_give(&sq->live);
    return r;
}

int hf_sq_history_set(struct hf_sq *sq)
{
    if (sq->keep < 0)
        return 0;
    int r = HF_SQ_STALE;
    if (hf_sq_current(sq)) {
        bool same = sq->head.kept == (uint64_t)sq->keep;
        r = same ? 0 : change_kept(sq, (uint64_t)sq->keep);
    }
    if (r == HF_SQ_STALE)
        r = hf_sq_fail(sq, HF_EDOWN, "%.160s was replaced", sq->files.db);
    return r;
}

/* ---- HISTORY -------------------------------------------------------------------- */

static int say_no_history(struct hf_sq *sq)
{
    return hf_sq_fail(sq, HF_ENOTFOUND,
                      "no history is kept here; open the store once with ?history=1000");
}

/* Those who died and were not met by anybody are met now. */
int hf_sq_history(struct hf_sq *sq, struct hf_req *req)
{
    size_t count = 0;

    int r = hf_sq_connect(sq, false);
    if (r < 0)
        return r == HF_ENOTFOUND ? say_no_history(sq) : r;
    if (!hf_sq_current(sq))
        return HF_SQ_STALE;
    if (sq->head.kept == 0)
        return say_no_history(sq);
    r = hf_sq_sweep_now(sq, req->name);
    if (r == HF_SQ_STALE || r == HF_SQ_SHUT)
        return r; /* of other failures: what is written is true */
    r = hf_sq_gate(sq);
    if (r < 0)
        return r;
    bool current = hf_sq_current(sq) && hf_sq_records_load(sq);
    hf_sq_gate_give(&sq->live);
    if (!current)
        return HF_SQ_STALE;
    r = hf_sq_ring_read(sq, req->name, req->stamp, &count);
    if (r < 0)
        return r;
    req->past = sq->past;
    req->pasts = count;
    req->stamp = sq->head.number;
    return 0;
}
