/* will.c - ending a session from another process.
 *
 * A session is named by its number, which is random and never used again.  All its tickets go
 * in one transaction, as by a BREAK: who waits is granted and told.  The owner, if it lives,
 * lets go of the bytes, its link is lost, and it goes on as another session.
 *
 * How it learns of that must not hang on a message: its FIFO may be full, or deleted.  The
 * FIFO has no name any more, and the owner looks at that, behind the gate, before it enters
 * anything; when it is told; and from time to time.
 */
#include "store/sqlite/inner.h"
#include "store/sqlite/ulimit.h"

#include "holdfast.h"

#include <assert.h>
#include <string.h>

int hf_sq_will(struct hf_store *store, void *ret)
{
    struct hf_sq     *sq = (struct hf_sq *)store;
    struct hf_sq_mute limit;

    hf_sq_mute_ulimit(&limit);
    int r = hf_sq_session(sq);
    hf_sq_unmute(&limit);
    if (r < 0)
        return r;
    assert(sq->sid != 0 && sq->executes.sid == 0);
    sq->willed = true;
    struct hf_sq_will will = { sq->sid, sq->live.device, sq->live.inode };
    memcpy(ret, &will, sizeof will);
    return sizeof will;
}

int hf_sq_will_read(struct hf_sq *sq, const struct hf_config *config)
{
    if (config->will_size == sizeof sq->executes)
        memcpy(&sq->executes, config->will, sizeof sq->executes);
    return sq->executes.sid != 0
               ? 0
               : hf_sq_fail(sq, HF_EINVAL, "the will is not one of sqlite:");
}

/* ---- Executing it ----------------------------------------------------------------- */

static int open_its_file(struct hf_sq *sq)
{
    int r = hf_sq_connect(sq, false);

    if (r < 0 && r != HF_ENOTFOUND)
        return r;
    if (r == 0 && sq->live.device == sq->executes.device &&
        sq->live.inode == sq->executes.inode)
        return 0;
    return hf_sq_fail(
        sq, HF_ENOTFOUND,
        "%.120s is not the file that the will is about: was it replaced, or "
        "is the working directory another one?",
        sq->files.db);
}

static int end_its_session(struct hf_sq *sq, uint64_t sid)
{
    int r = open_its_file(sq);
    if (r == 0)
        r = hf_sq_begin(sq);
    if (r < 0)
        return r;
    assert(sq->sid == 0); /* we have none of our own */
    r = hf_sq_record_loss(sq, sid);
    if (r == 0)
        r = hf_sq_places_end(sq, sid);
    if (r == 0)
        r = hf_sq_fifo_end(sq, sid); /* if we get no further, it ends by itself */
    return hf_sq_end(sq, r);
}

void hf_sq_execute(struct hf_sq *sq)
{
    int r = end_its_session(sq, sq->executes.sid);

    assert(r != HF_SQ_SHUT); /* no request hurries us */
    if (r == HF_SQ_STALE)
        hf_sq_outdated(sq); /* and look again at what is there */
    bool soon = r == HF_SQ_STALE || r == HF_EDOWN;
    sq->base.refusal = soon ? 0 : r;
    if (r < 0)
        return; /* it is tried again for as long as the caller likes */
    sq->executes.sid = 0;
    hf_store_set_link(&sq->base, HF_LINK_LOST);
}
