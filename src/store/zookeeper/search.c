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

struct search {
    void (*then)(struct hf_zk *zk, struct hf_zk_task *task);
    char name[HF_ZK_CHILD_MAX];
};

static void search_done(struct hf_zk *zk, struct hf_zk_task *task)
{
    void (*then)(struct hf_zk *, struct hf_zk_task *) =
        ((struct search *)task->more)->then;

    assert(task->ticket->where == HF_ZK_NOWHERE || task->ticket->where == HF_ZK_THERE);
    free(task->more);
    task->more = NULL;
    then(zk, task);
}

static void on_found_node(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct hf_zk_task   *task = data;
    struct hf_zk_ticket *ticket = task->ticket;
    struct search       *search = task->more;
    struct hf_zk_stat    stat = { 0 };

    assert(ticket->where == HF_ZK_UNSURE);
    if (hf_zk_task_failed(zk, task, reply->error, "read", search->name))
        return;
    hf_zk_get_text(&reply->body);
    hf_zk_get_stat(&reply->body, &stat);
    hf_zk_ticket_set(zk, ticket, HF_ZK_NOWHERE);
    if (reply->error == 0) {
        int r = hf_zk_ticket_found(zk, ticket, search->name, strlen(search->name), &stat);
        if (r == HF_ENOMEM) {
            hf_zk_ticket_set(zk, ticket, HF_ZK_UNSURE);
            hf_task_fail(&task->base, HF_ENOMEM, "out of memory");
            return;
        }
    }
    search_done(zk, task);
}

static void read_found_node(struct hf_zk *zk, struct hf_zk_task *task)
{
    char path[HF_ZK_PATH_MAX];

    hf_zk_path(task->line, ((struct search *)task->more)->name, path);
    hf_zk_call_get(zk, &task->call[0], HF_ZK_GET_DATA, path, false, on_found_node, task);
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
    read_found_node(zk, task);
}

static void on_listed_to_search(struct hf_zk *zk, struct hf_zk_task *task, int error)
{
    struct hf_zk_ticket *ticket = task->ticket;
    struct search       *search = task->more;
    char                 path[HF_ZK_PATH_MAX];

    if (hf_zk_task_failed(zk, task, error, "list", task->line->folder))
        return;
    size_t own = hf_zk_line_own(task->line, ticket);
    if (own == task->line->count) {
        hf_zk_ticket_set(zk, ticket, HF_ZK_NOWHERE);
        search_done(zk, task);
        return;
    }
    const char *name = task->line->place[own].name;
    assert(strlen(name) < sizeof search->name); /* ours are short */
    memcpy(search->name, name, strlen(name) + 1);
    if (ticket->slot_tried < 0) {
        read_found_node(zk, task);
        return;
    }
    hf_zk_slot_path(task->line, ticket->slot_tried, path);
    hf_zk_call_get(zk, &task->call[0], HF_ZK_GET_DATA, path, false, on_slot_read, task);
}

/* What was sent on the connection that broke is done or will never be: the server
 * has closed that connection before it greeted us on this one.  The write in front of
 * the listing makes sure that this server has heard of it. */
void hf_zk_search(struct hf_zk *zk, struct hf_zk_task *task,
                  void (*then)(struct hf_zk *zk, struct hf_zk_task *task))
{
    assert(task->ticket->where == HF_ZK_UNSURE);
    struct search *search = hf_zk_task_more(task, sizeof *search, free);
    if (search == NULL)
        return;
    search->then = then;
    hf_zk_call_barrier(zk, &task->call[0], task->line->folder);
    task->on_list = on_listed_to_search;
    hf_zk_line_list(zk, task->line, task);
}
