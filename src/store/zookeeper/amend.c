/* amend.c - AMEND: the same place under a name that says it weighs less.
 *
 * One step: a node with the same number and uuid is made, the old one deleted.
 * Curator's readers and writers take it for what it is (it does the same, in two
 * steps).  The token stays what it was, and so goes into the node for others to read.
 */
#include "store/zookeeper/inner.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void amended_path(const struct hf_zk *zk, const struct hf_zk_task *task, char *ret)
{
    char name[HF_ZK_CHILD_MAX];

    hf_zk_child_name(zk->config.style, &task->base.req->shape, task->ticket->uuid,
                     task->ticket->number, name);
    hf_zk_path(task->line, name, ret);
}

static void on_amended(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct hf_zk_task   *task = data;
    struct hf_zk_ticket *ticket = task->ticket;
    struct hf_zk_stat    stat = { .owner = zk->link.session };
    char                 path[HF_ZK_PATH_MAX];

    assert(ticket->where == HF_ZK_UNSURE);
    if (reply->error == HF_ZK_CONNECTION_LOSS) {
        hf_task_finish(&task->base, HF_EDOWN);
        return;
    }
    amended_path(zk, task, path);
    struct hf_zk_text text = { path, strlen(path) };
    if (reply->error != 0) {
        hf_zk_ticket_set(zk, ticket, HF_ZK_THERE); /* it is as it was */
    } else {
        hf_zk_ticket_step_aside(zk, ticket); /* the old node is gone */
        if (hf_zk_ticket_found(zk, ticket, text, &stat) < 0) {
            hf_task_fail(&task->base, HF_ENOMEM, "out of memory");
            return;
        }
    }
    if (hf_zk_task_failed(zk, task, reply->error, "amend", ticket->path))
        return;
    if (reply->error == HF_ZK_NO_NODE)
        hf_zk_ticket_away(zk, ticket);
    hf_zk_look(zk, task);
}

static void rename_node(struct hf_zk *zk, struct hf_zk_task *task)
{
    struct hf_zk_ticket *ticket = task->ticket;
    const struct hf_req *req = task->base.req;
    char                 path[HF_ZK_PATH_MAX];
    char                *text;

    if (asprintf(&text, "%s\ntoken=%llu", req->note != NULL ? req->note : "",
                 (unsigned long long)ticket->token) < 0) {
        hf_task_fail(&task->base, HF_ENOMEM, "out of memory");
        return;
    }
    amended_path(zk, task, path);
    hf_zk_ticket_quiet(zk, ticket, true);
    hf_zk_ticket_set(zk, ticket, HF_ZK_UNSURE);
    hf_zk_multi_begin(zk, &task->call[0], on_amended, task);
    hf_zk_multi_create(zk, path, text, HF_ZK_EPHEMERAL);
    hf_zk_multi_delete(zk, ticket->path);
    hf_zk_multi_end(zk);
    free(text);
}

static void amend_place(struct hf_zk *zk, struct hf_zk_task *task)
{
    struct hf_zk_ticket *ticket = task->ticket;

    assert(ticket->where != HF_ZK_UNSURE);
    if (ticket->where == HF_ZK_NOWHERE) /* searched for in vain */
        hf_zk_ticket_set(zk, ticket, HF_ZK_AWAY);
    if (ticket->where == HF_ZK_THERE &&
        task->base.req->shape.weight < ticket->shape.weight)
        rename_node(zk, task);
    else
        hf_zk_look(zk, task);
}

void hf_zk_amend(struct hf_zk *zk, struct hf_zk_task *task)
{
    task->ticket = hf_zk_ticket_find(zk, task->base.req->id);
    if (task->ticket == NULL)
        hf_zk_look(zk, task);
    else if (task->ticket->where == HF_ZK_UNSURE)
        hf_zk_search(zk, task, amend_place);
    else
        amend_place(zk, task);
}
