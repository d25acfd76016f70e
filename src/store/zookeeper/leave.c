/* leave.c - LEAVE: delete our node.
 *
 * Deleted: it was ours until now.  Not there: it had been taken from us.  What became of an
 * earlier delete, whose answer was lost, search.c finds out first.
 *
 * A folder whose numbers are half used up is started afresh when nobody is in it:
 * node and folder are deleted in one step, which fails if there is anybody else.
 */
#include "store/zookeeper/inner.h"

#include <assert.h>

#define RESET_FROM ((int64_t)1 << 30)

enum { DELETE, RESET }; /* call[] */

static void leave_end(struct hf_zk *zk, struct hf_zk_task *task, int status)
{
    struct hf_zk_ticket *ticket = task->ticket;

    assert(status == 0 || status == HF_ELOST);
    task->ticket = NULL;
    hf_zk_ticket_step_aside(zk, ticket); /* a listing may have shown it again */
    if (status == HF_ELOST)              /* kept, so that a repeat is told the same */
        hf_zk_ticket_away(zk, ticket);
    else
        hf_zk_ticket_free(zk, ticket);
    hf_task_finish(&task->base, status);
}

static void place_deleted(struct hf_zk *zk, struct hf_zk_task *task, int error)
{
    struct hf_zk_ticket *ticket = task->ticket;

    switch (error) {
    case HF_ZK_OK:
        leave_end(zk, task, 0);
        break;
    case HF_ZK_NO_NODE:
        leave_end(zk, task, task->step != 0 ? 0 : HF_ELOST);
        break;
    default:
        if (error == HF_ZK_CONNECTION_LOSS)
            hf_zk_ticket_unsure(zk, ticket);
        hf_task_finish(&task->base, hf_zk_fault(zk, error, "delete", ticket->path));
    }
}

/* ---- Deleting ------------------------------------------------------------------------------ */

static void on_place_deleted(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct hf_zk_task *task = data;

    task->on_deleted(zk, task, reply->error);
}

/* If only what goes with it is not there, the node is deleted by itself. */
static void on_both_deleted(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct hf_zk_task *task = data;

    if (reply->error != HF_ZK_NO_NODE || hf_zk_multi_error(reply, 0) == HF_ZK_NO_NODE)
        on_place_deleted(zk, task, reply);
    else
        hf_zk_call_delete(zk, &task->call[DELETE], task->deleted, on_place_deleted, task);
}

void hf_zk_place_delete(struct hf_zk *zk, struct hf_zk_task *task, const char *path,
                        const char *beside,
                        void (*then)(struct hf_zk *zk, struct hf_zk_task *task,
                                     int error))
{
    task->deleted = path;
    task->on_deleted = then;
    if (beside == NULL) {
        hf_zk_call_delete(zk, &task->call[DELETE], path, on_place_deleted, task);
        return;
    }
    hf_zk_multi_begin(zk, &task->call[DELETE], on_both_deleted, task);
    hf_zk_multi_delete(zk, path);
    hf_zk_multi_delete(zk, beside);
    hf_zk_multi_end(zk);
}

static void on_reset(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct hf_zk_task *task = data;

    (void)zk;
    if (reply->error == 0)
        task->step = 1; /* so the delete behind it finds nothing */
}

/* The place, what goes with it, and the folder. */
static void reset_folder(struct hf_zk *zk, struct hf_zk_task *task, const char *beside)
{
    assert(task->ticket->number >= RESET_FROM);
    hf_zk_multi_begin(zk, &task->call[RESET], on_reset, task);
    hf_zk_multi_delete(zk, task->ticket->path);
    if (beside != NULL)
        hf_zk_multi_delete(zk, beside);
    hf_zk_multi_delete(zk, task->line->folder);
    hf_zk_multi_end(zk);
}

/* ---- Leaving ------------------------------------------------------------------------------- */

static void leave_place(struct hf_zk *zk, struct hf_zk_task *task)
{
    struct hf_zk_ticket *ticket = task->ticket;
    char                 path[HF_ZK_PATH_MAX];

    switch (ticket->where) {
    case HF_ZK_UNSURE:
        assert(false); /* that is searched for first */
        return;
    case HF_ZK_NOWHERE:
        leave_end(zk, task, 0);
        return;
    case HF_ZK_AWAY:
        leave_end(zk, task, HF_ELOST);
        return;
    case HF_ZK_THERE:
        break;
    }
    const char *beside = hf_zk_ticket_beside(ticket, path) ? path : NULL;
    hf_zk_ticket_quiet(zk, ticket, true);
    if (ticket->number >= RESET_FROM)
        reset_folder(zk, task, beside);
    hf_zk_place_delete(zk, task, ticket->path, beside, place_deleted);
    /* The place is gone to us as soon as its delete is on its way: what we send later the
     * server does later, and until it has done so the node keeps everybody else out. */
    if (beside == NULL) /* else that delete may fail, and be made again */
        hf_zk_ticket_step_aside(zk, ticket);
}

void hf_zk_leave(struct hf_zk *zk, struct hf_zk_task *task)
{
    task->ticket = hf_zk_ticket_find(zk, task->base.req->id);
    if (task->ticket == NULL) /* left already */
        hf_task_finish(&task->base, 0);
    else if (task->ticket->where == HF_ZK_UNSURE)
        hf_zk_search(zk, task, leave_place);
    else
        leave_place(zk, task);
}
