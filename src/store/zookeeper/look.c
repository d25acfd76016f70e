/* look.c - READ: the line as it stands; and finding places whose fate is unknown. */
#include "store/zookeeper/inner.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- Answering --------------------------------------------------------------------------- */

void hf_zk_look_answer(struct hf_zk *zk, struct hf_zk_task *task)
{
    struct hf_zk_ticket   *ticket = task->ticket;
    const struct hf_shape *shape =
        task->base.req->op == HF_ENTER ? &task->base.req->shape : NULL;

    if (ticket != NULL && ticket->where == HF_ZK_THERE && ticket->slot < 0 &&
        hf_shape_has_slots(&ticket->shape) && hf_zk_granted(task->line, ticket)) {
        hf_zk_slot_take(zk, task);
        return;
    }
    int r = hf_zk_answer(zk, task->base.req, task->line, ticket, shape);
    if (r < 0)
        hf_task_fail(&task->base, r, "out of memory");
    else
        hf_task_finish(&task->base, 0);
}

void hf_zk_settle(struct hf_zk *zk, struct hf_zk_ticket *ticket)
{
    struct hf_zk_line *line = ticket->line;

    if (ticket->where != HF_ZK_THERE)
        return;
    for (size_t i = hf_zk_line_find(line, ticket->seq);
         i < line->count && line->place[i].seq == ticket->seq; i++)
        if (line->place[i].ticket == ticket)
            return;
    hf_zk_ticket_away(zk, ticket);
}

static void on_listed(struct hf_zk *zk, struct hf_zk_task *task, int error)
{
    if (error != 0 && error != HF_ZK_NO_NODE) {
        hf_task_finish(&task->base, hf_zk_fault(zk, error, "list", task->line->folder));
        return;
    }
    if (task->ticket != NULL)
        hf_zk_settle(zk, task->ticket);
    hf_zk_look_answer(zk, task);
}

/* Everything that was ahead of us is known to have gone, and nobody can have joined
 * there: it is our turn if only our own node is there. */
static bool is_first(const struct hf_zk_ticket *ticket)
{
    const struct hf_zk_line *line = ticket->line;

    return ticket->where == HF_ZK_THERE && !ticket->moving && line->plain &&
           line->head < line->count && line->place[line->head].ticket == ticket;
}

static void on_own(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct hf_zk_task *task = data;

    if (reply->error != 0 && reply->error != HF_ZK_NO_NODE) {
        hf_task_finish(&task->base,
                       hf_zk_fault(zk, reply->error, "read", task->ticket->path));
        return;
    }
    if (reply->error == HF_ZK_NO_NODE)
        hf_zk_ticket_away(zk, task->ticket);
    if (task->ticket->where != HF_ZK_THERE || is_first(task->ticket))
        hf_zk_look_answer(zk, task);
    else
        hf_zk_look(zk, task);
}

void hf_zk_look(struct hf_zk *zk, struct hf_zk_task *task)
{
    task->ticket = hf_zk_ticket_find(zk, task->base.req->id);
    if (task->ticket != NULL && is_first(task->ticket)) {
        /* We would have heard if it had gone, too; or that much is quickly asked. */
        if (hf_zk_is_armed(zk, &task->ticket->own))
            hf_zk_look_answer(zk, task);
        else
            hf_zk_call_get(zk, &task->call[0], HF_ZK_EXISTS, task->ticket->path, false,
                           on_own, task);
        return;
    }
    if (task->ticket != NULL && task->ticket->shape.claim)
        hf_zk_claim_look(zk, task);
    task->on_list = on_listed;
    hf_zk_line_ask(zk, task->line, task);
}

/* ---- Searching ---------------------------------------------------------------------------- */

struct search {
    void (*then)(struct hf_zk *zk, struct hf_zk_task *task);
    char name[HF_ZK_CHILD_MAX];
};

static void go_on(struct hf_zk *zk, struct hf_zk_task *task)
{
    void (*then)(struct hf_zk *, struct hf_zk_task *) =
        ((struct search *)task->more)->then;

    free(task->more);
    task->more = NULL;
    then(zk, task);
}

static void on_node(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct hf_zk_task   *task = data;
    struct hf_zk_ticket *ticket = task->ticket;
    struct search       *search = task->more;
    struct hf_zk_stat    stat = { 0 };

    if (reply->error != 0 && reply->error != HF_ZK_NO_NODE) {
        hf_task_finish(&task->base, hf_zk_fault(zk, reply->error, "read", search->name));
        return;
    }
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
    go_on(zk, task);
}

const char *hf_zk_find_own(const struct hf_zk_line   *line,
                           const struct hf_zk_ticket *ticket)
{
    for (size_t i = 0; i < line->count; i++) {
        const char *name = line->place[i].name;
        if (strlen(name) >= HF_ZK_CHILD_MAX)
            continue; /* ours are shorter */
        if (ticket->shape.claim ? line->place[i].child.shape.claim
                                : hf_zk_child_is(name, strlen(name), ticket->uuid))
            return name;
    }
    return NULL;
}

static void on_searched(struct hf_zk *zk, struct hf_zk_task *task, int error)
{
    struct search *search = task->more;
    char           path[HF_ZK_PATH_MAX];

    if (error != 0 && error != HF_ZK_NO_NODE) {
        hf_task_finish(&task->base, hf_zk_fault(zk, error, "list", task->line->folder));
        return;
    }
    const char *name = hf_zk_find_own(task->line, task->ticket);
    if (name == NULL) {
        hf_zk_ticket_set(zk, task->ticket, HF_ZK_NOWHERE);
        go_on(zk, task);
        return;
    }
    memcpy(search->name, name, strlen(name) + 1);
    hf_zk_path(task->line, name, path);
    hf_zk_call_get(zk, &task->call[0], HF_ZK_GET_DATA, path, false, on_node, task);
}

/* What was sent on the connection that broke is done or will never be: the server
 * has closed that connection before it greeted us on this one.  The write in front of
 * the listing makes sure that this server has heard of it. */
void hf_zk_search(struct hf_zk *zk, struct hf_zk_task *task,
                  void (*then)(struct hf_zk *zk, struct hf_zk_task *task))
{
    struct search *search = calloc(1, sizeof *search);
    if (search == NULL) {
        hf_task_fail(&task->base, HF_ENOMEM, "out of memory");
        return;
    }
    assert(task->more == NULL);
    search->then = then;
    task->more = search;
    task->free_more = free;
    hf_zk_call_settle(zk, &task->call[0], task->line->folder);
    task->on_list = on_searched;
    hf_zk_line_ask(zk, task->line, task);
}
