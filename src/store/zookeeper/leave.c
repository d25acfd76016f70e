/* leave.c - LEAVE: delete our node.
 *
 * Deleted: it was ours until now.  Not there: it had been taken from us, unless it
 * was an earlier delete of ours whose answer was lost.
 *
 * A folder whose numbers are half used up is started afresh when nobody is in it:
 * node and folder are deleted in one step, which fails if there is anybody else.
 */
#include "store/zookeeper/inner.h"

#include <assert.h>
#include <string.h>

#define RESET_FROM ((int64_t)1 << 30)

enum { DELETE, RESET, BARRIER }; /* call[] */

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
        leave_end(zk, task, ticket->leaving || task->step != 0 ? 0 : HF_ELOST);
        break;
    default:
        if (error == HF_ZK_CONNECTION_LOSS)
            ticket->leaving = true;
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
        hf_zk_call_delete(zk, &task->call[DELETE], task->ticket->path, -1,
                          on_place_deleted, task);
}

/* The place, what goes with it, and the folder if that is wanted, in one step. */
static void delete_all(struct hf_zk *zk, const struct hf_zk_task *task, bool folder)
{
    char beside[HF_ZK_PATH_MAX];

    assert(!task->ticket->slot_unsure);
    hf_zk_multi_delete(zk, task->ticket->path);
    if (hf_zk_ticket_beside(task->ticket, beside))
        hf_zk_multi_delete(zk, beside);
    if (folder)
        hf_zk_multi_delete(zk, task->line->folder);
    hf_zk_multi_end(zk);
}

void hf_zk_place_delete(struct hf_zk *zk, struct hf_zk_task *task,
                        void (*then)(struct hf_zk *zk, struct hf_zk_task *task,
                                     int error))
{
    char beside[HF_ZK_PATH_MAX];

    task->on_deleted = then;
    if (!hf_zk_ticket_beside(task->ticket, beside)) {
        hf_zk_call_delete(zk, &task->call[DELETE], task->ticket->path, -1,
                          on_place_deleted, task);
        return;
    }
    size_t begin =
        hf_zk_call_begin(zk, &task->call[DELETE], HF_ZK_MULTI, on_both_deleted, task);
    delete_all(zk, task, false);
    hf_zk_call_end(zk, begin);
}

static void on_reset(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct hf_zk_task *task = data;

    (void)zk;
    if (reply->error == 0)
        task->step = 1; /* so the delete behind it finds nothing */
    else if (reply->error == HF_ZK_CONNECTION_LOSS)
        task->ticket->leaving = true;
}

static void reset_folder(struct hf_zk *zk, struct hf_zk_task *task)
{
    assert(task->ticket->number >= RESET_FROM);
    size_t begin = hf_zk_call_begin(zk, &task->call[RESET], HF_ZK_MULTI, on_reset, task);

    delete_all(zk, task, true);
    hf_zk_call_end(zk, begin);
}

/* ---- Leaving ------------------------------------------------------------------------------- */

static void leave_place(struct hf_zk *zk, struct hf_zk_task *task);

/* The answer about our slot was lost: is it there, and ours? */
static void on_slot_found(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct hf_zk_task   *task = data;
    struct hf_zk_ticket *ticket = task->ticket;
    struct hf_zk_text    text = hf_zk_get_text(&reply->body);

    if (reply->error != 0 && reply->error != HF_ZK_NO_NODE) {
        hf_task_finish(&task->base, hf_zk_fault(zk, reply->error, "read", ticket->path));
        return;
    }
    assert(ticket->slot < 0 && ticket->slot_unsure);
    ticket->slot_unsure = false;
    if (reply->error == 0 && text.size == HF_ZK_UUID &&
        memcmp(text.bytes, ticket->uuid, HF_ZK_UUID) == 0)
        ticket->slot = ticket->slot_tried;
    leave_place(zk, task);
}

static void find_lost_slot(struct hf_zk *zk, struct hf_zk_task *task)
{
    char path[HF_ZK_PATH_MAX];

    hf_zk_slot_path(task->line, task->ticket->slot_tried, path);
    hf_zk_call_barrier(zk, &task->call[BARRIER], path);
    hf_zk_call_get(zk, &task->call[DELETE], HF_ZK_GET_DATA, path, false, on_slot_found,
                   task);
}

static void leave_place(struct hf_zk *zk, struct hf_zk_task *task)
{
    struct hf_zk_ticket *ticket = task->ticket;
    char                 beside[HF_ZK_PATH_MAX];

    switch (ticket->where) {
    case HF_ZK_UNSURE:
        assert(false); /* that is searched for first */
        return;
    case HF_ZK_NOWHERE:
        leave_end(zk, task, 0);
        return;
    case HF_ZK_AWAY:
        leave_end(zk, task, ticket->leaving ? 0 : HF_ELOST);
        return;
    case HF_ZK_THERE:
        break;
    }
    if (ticket->slot_unsure) {
        find_lost_slot(zk, task);
        return;
    }
    hf_zk_ticket_quiet(zk, ticket, true);
    if (ticket->number >= RESET_FROM)
        reset_folder(zk, task);
    hf_zk_place_delete(zk, task, place_deleted);
    /* The place is gone to us as soon as its delete is on its way: what we send later the
     * server does later, and until it has done so the node keeps everybody else out. */
    if (!hf_zk_ticket_beside(ticket,
                             beside)) /* that delete may fail, and be made again */
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
