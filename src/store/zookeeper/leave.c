/* leave.c - LEAVE: delete our node.
 *
 * If the delete succeeds, the place was ours until now.  If the node is not there,
 * somebody took it from us.  After a delete whose answer was lost, recover.c comes
 * first.  If it does not find the node, either we deleted it or a BREAK did.  BREAK writes
 * to the folder, so if nobody has done that since our place was made, it was us.
 * Otherwise we cannot tell, and must not say that the lock was ours to the end.
 *
 * When half of a folder's numbers are used up, they start afresh as soon as nobody is in
 * it: node and folder are deleted in one step, which fails if there is any other node.
 */
#include "store/zookeeper/inner.h"

#include <assert.h>

#define RESET_FROM ((int64_t)1 << 30)

enum { DELETE, RESET }; /* call[] */

static void leave_end(struct hf_zk *zk, struct hf_zk_task *task, int status)
{
    struct hf_zk_own *own = task->own;

    assert(status == 0 || status == HF_ELOST);
    task->own = NULL;
    hf_zk_own_left_line(zk, own); /* a listing may have added it again */
    if (status == HF_ELOST) /* kept, so that a repeated LEAVE gets the same answer */
        hf_zk_own_taken(zk, own);
    else
        hf_zk_own_free(zk, own);
    hf_task_finish(&task->base, status);
}

static void place_deleted(struct hf_zk *zk, struct hf_zk_task *task, int error)
{
    struct hf_zk_own *own = task->own;

    if (task->step != 0) /* it was deleted with the folder, and this found nothing */
        error = HF_ZK_OK;
    switch (error) {
    case HF_ZK_OK:
        leave_end(zk, task, 0);
        break;
    case HF_ZK_NO_NODE:
        leave_end(zk, task, HF_ELOST);
        break;
    default:
        if (error == HF_ZK_CONNECTION_LOSS)
            hf_zk_own_unsure(zk, own);
        hf_task_finish(&task->base, hf_zk_fault(zk, error, "delete", own->path));
    }
}

/* ---- Deleting ----------------------------------------------------------------------- */

static void on_place_deleted(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct hf_zk_task *task = data;

    if (reply->error == 0 && task->own != NULL && hf_zk_own_companion(task->own) != NULL)
        task->own->companion->where = HF_ZK_NOWHERE; /* it went with the place */
    task->on_deleted(zk, task, reply->error);
}

/* If only the companion is missing, the node is deleted by itself. */
static void on_both_deleted(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct hf_zk_task *task = data;

    if (reply->error != HF_ZK_NO_NODE || hf_zk_multi_error(reply, 0) == HF_ZK_NO_NODE)
        on_place_deleted(zk, task, reply);
    else
        hf_zk_call_delete(zk, &task->call[DELETE], task->deleted, on_place_deleted, task);
}

void hf_zk_place_delete(struct hf_zk *zk, struct hf_zk_task *task, const char *path,
                        const char *companion,
                        void (*then)(struct hf_zk *zk, struct hf_zk_task *task,
                                     int error))
{
    task->deleted = path;
    task->on_deleted = then;
    if (companion == NULL) {
        hf_zk_call_delete(zk, &task->call[DELETE], path, on_place_deleted, task);
        return;
    }
    hf_zk_multi_begin(zk, &task->call[DELETE], on_both_deleted, task);
    hf_zk_multi_delete(zk, path);
    hf_zk_multi_delete(zk, companion);
    hf_zk_multi_end(zk);
}

static void on_reset(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct hf_zk_task *task = data;

    (void)zk;
    if (reply->error == 0)
        task->step = 1; /* the delete behind it will find nothing, whatever it answers */
}

/* The place, its companion, and the folder. */
static void reset_folder(struct hf_zk *zk, struct hf_zk_task *task, const char *companion)
{
    assert(task->own->number >= RESET_FROM);
    hf_zk_multi_begin(zk, &task->call[RESET], on_reset, task);
    hf_zk_multi_delete(zk, task->own->path);
    if (companion != NULL)
        hf_zk_multi_delete(zk, companion);
    hf_zk_multi_delete(zk, task->line->folder);
    hf_zk_multi_end(zk);
}

/* ---- Leaving ------------------------------------------------------------------------ */

static void leave_place(struct hf_zk *zk, struct hf_zk_task *task)
{
    struct hf_zk_own *own = task->own;

    switch (own->where) {
    case HF_ZK_UNSURE:
        assert(false); /* recover.c comes first */
        return;
    case HF_ZK_NOWHERE:
        leave_end(zk, task, 0);
        return;
    case HF_ZK_TAKEN:
        leave_end(zk, task, HF_ELOST);
        return;
    case HF_ZK_THERE:
        break;
    }
    const char *companion = hf_zk_own_companion(own);
    hf_zk_own_unlisten(zk, own, true);
    if (own->number >= RESET_FROM)
        reset_folder(zk, task, companion);
    hf_zk_place_delete(zk, task, own->path, companion, place_deleted);
    /* To us the place is gone as soon as its delete is sent: the server carries out later
     * calls later, and until it has deleted the node, that keeps everybody else out. */
    if (companion == NULL) /* otherwise that delete may fail, and be sent again */
        hf_zk_own_left_line(zk, own);
}

/* A folder that is gone, or is a new one, shows no BREAK. */
static void leave_recovered(struct hf_zk *zk, struct hf_zk_task *task)
{
    struct hf_zk_own *own = task->own;

    if (own->where == HF_ZK_NOWHERE && own->token != 0 &&
        task->line->written > own->token)
        hf_zk_own_set(zk, own, HF_ZK_TAKEN);
    leave_place(zk, task);
}

void hf_zk_leave(struct hf_zk *zk, struct hf_zk_task *task)
{
    task->own = hf_zk_own_find(zk, task->base.req->id);
    if (task->own == NULL) /* left already */
        hf_task_finish(&task->base, 0);
    else if (task->own->where == HF_ZK_UNSURE)
        hf_zk_recover(zk, task, leave_recovered);
    else
        leave_place(zk, task);
}
