/* search.c - what became of a place: its creation, renaming, slot or end was not answered.
 *
 *     UNSURE --barrier, listing: our uuid is not in it--> NOWHERE
 *        |                       it is: read the node
 *        +--the node is our session's--> THERE; another session's, or gone --> NOWHERE
 *
 * If we had been about to take a slot, that node is read, too: is our uuid in it?
 */
#include "store/zookeeper/inner.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void on_found_node(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct hf_zk_task   *task = data;
    struct hf_zk_ticket *ticket = task->ticket;
    struct hf_zk_text    path = { ticket->path, strlen(ticket->path) };
    struct hf_zk_stat    stat = { 0 };
    int                  r = HF_ELOST;

    assert(ticket->where == HF_ZK_UNSURE);
    if (hf_zk_task_failed(zk, task, reply->error, "read", ticket->path))
        return;
    hf_zk_get_text(&reply->body);
    hf_zk_get_stat(&reply->body, &stat);
    if (reply->error == 0)
        r = hf_zk_ticket_found(zk, ticket, path, &stat);
    if (r == HF_ENOMEM) {
        hf_task_fail(&task->base, HF_ENOMEM, "out of memory");
        return;
    }
    if (r < 0)
        hf_zk_ticket_set(zk, ticket, HF_ZK_NOWHERE);
    task->on_found(zk, task);
}

static void on_slot_read(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct hf_zk_task   *task = data;
    struct hf_zk_ticket *ticket = task->ticket;

    if (hf_zk_task_failed(zk, task, reply->error, "read a slot in", task->line->folder))
        return;
    if (hf_zk_is_uuid_read(reply, ticket->uuid))
        ticket->slot = ticket->slot_tried;
    ticket->slot_tried = -1;
    hf_zk_call_get(zk, &task->call[0], HF_ZK_GET_DATA, ticket->path, on_found_node, task);
}

static void on_listed_to_search(struct hf_zk *zk, struct hf_zk_task *task, int error)
{
    struct hf_zk_ticket *ticket = task->ticket;
    char                 slot[HF_ZK_PATH_MAX];

    if (hf_zk_task_failed(zk, task, error, "list", task->line->folder))
        return;
    size_t own = hf_zk_line_own(task->line, ticket);
    if (own == task->line->count) {
        hf_zk_ticket_set(zk, ticket, HF_ZK_NOWHERE);
        task->on_found(zk, task);
        return;
    }
    char *path = hf_zk_path_new(task->line, task->line->place[own].name);
    if (path == NULL) {
        hf_task_fail(&task->base, HF_ENOMEM, "out of memory");
        return;
    }
    free(ticket->path);
    ticket->path = path;
    if (ticket->slot_tried < 0) {
        hf_zk_call_get(zk, &task->call[0], HF_ZK_GET_DATA, path, on_found_node, task);
        return;
    }
    hf_zk_slot_path(task->line, ticket->slot_tried, slot);
    hf_zk_call_get(zk, &task->call[0], HF_ZK_GET_DATA, slot, on_slot_read, task);
}

/* What was sent on the connection that broke is done or will never be: the server
 * has closed that connection before it greeted us on this one.  The write in front of
 * the listing makes sure that this server has heard of it. */
void hf_zk_search(struct hf_zk *zk, struct hf_zk_task *task,
                  void (*then)(struct hf_zk *zk, struct hf_zk_task *task))
{
    assert(task->ticket->where == HF_ZK_UNSURE);
    task->on_found = then;
    hf_zk_call_barrier(zk, &task->call[0], task->line->folder);
    task->on_list = on_listed_to_search;
    hf_zk_line_list(zk, task->line, task);
}
