/* session_key.c - the session key, and ending a session from another process.
 *
 * A key names its session by the session's number, which is random and never used again.
 * We remove all places of the session in one transaction, as by a BREAK: waiters are
 * granted and woken.  If the owner lives, it releases its liveness locks, reports its
 * link LOST, and goes on as another session.
 *
 * A wake-up alone could get lost, as its FIFO may be full or deleted.  So we remove the
 * name of the FIFO.  The owner checks that name when it is woken, from time to time, and,
 * under the write lock, before it enters a line.
 */
#include "store/sqlite/db/db.h"
#include "store/sqlite/files/files.h"
#include "store/sqlite/history/history.h"
#include "store/sqlite/inner.h"
#include "store/sqlite/line/line.h"
#include "store/sqlite/link.h"
#include "store/sqlite/wake/wake.h"

#include "holdfast.h"

#include <assert.h>
#include <string.h>

int hf_sq_session_key(struct hf_store *store, void *ret)
{
    struct hf_sq               *sq = (struct hf_sq *)store;
    struct hf_sq_blocked_signal blocked;

    hf_sq_block_sigxfsz(&blocked);
    int r = hf_sq_session(sq);
    hf_sq_unblock_signal(&blocked);
    if (r < 0)
        return r;
    assert(sq->sid != 0 && sq->to_end.sid == 0);
    sq->key_given = true;
    struct hf_sq_session_key key = { sq->sid, sq->live.device, sq->live.inode };
    memcpy(ret, &key, sizeof key);
    return sizeof key;
}

int hf_sq_session_key_read(struct hf_sq *sq, const struct hf_config *config)
{
    if (config->key_size == sizeof sq->to_end)
        memcpy(&sq->to_end, config->key, sizeof sq->to_end);
    return sq->to_end.sid != 0
               ? 0
               : hf_sq_fail(sq, HF_EINVAL, "the session key is not one of sqlite:");
}

/* ---- Ending the session ------------------------------------------------------ */

static int open_its_file(struct hf_sq *sq)
{
    int r = hf_sq_connect(sq, false);

    if (r < 0 && r != HF_ENOTFOUND)
        return r;
    if (r == 0 && sq->live.device == sq->to_end.device &&
        sq->live.inode == sq->to_end.inode)
        return 0;
    return hf_sq_fail(
        sq, HF_ENOTFOUND,
        "%.120s is not the file that the session key is about: was it replaced, or "
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
    assert(sq->sid == 0); /* we have no session ourselves */
    r = hf_sq_history_add_loss(sq, sid);
    if (r == 0)
        r = hf_sq_places_remove_all(sq, sid);
    if (r == 0)
        r = hf_sq_fifo_end(sq, sid);
    return hf_sq_end(sq, r);
}

void hf_sq_end_session(struct hf_sq *sq)
{
    int r = end_its_session(sq, sq->to_end.sid);

    assert(r != HF_SQ_LOCKED); /* that is for requests only */
    if (r == HF_SQ_STALE)
        hf_sq_lose_session(sq); /* and open the files that are there now */
    bool soon = r == HF_SQ_STALE || r == HF_EDOWN;
    sq->base.refusal = soon ? 0 : r;
    if (r < 0)
        return; /* retried for as long as the caller likes */
    sq->to_end.sid = 0;
    hf_store_set_link(&sq->base, HF_LINK_LOST);
}
