/* downgrade.c - DOWNGRADE: the same place under a name with a smaller weight.
 *
 * One step: a node with the same number and uuid is created, and the old one deleted.
 * Curator's readers and writers understand it (Curator does the same, in two steps).
 * The token does not change, so it is part of the new name, where nobody can erase it as
 * Curator's Revoker does with the data.  An older Holdfast reads it from there.
 */
#include "store/zookeeper/inner.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void downgraded_path(const struct hf_zk *zk, const struct hf_zk_task *task,
                            char *ret)
{
    char name[HF_ZK_CHILD_MAX];

    hf_zk_child_name(zk->config.style, &task->base.req->shape, task->own->uuid,
                     task->own->token, task->own->number, name);
    hf_zk_path(task->line, name, ret);
}

static void on_renamed(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct hf_zk_task *task = data;
    struct hf_zk_own  *own = task->own;
    struct hf_zk_stat  stat = { .owner = zk->link.session };
    char               path[HF_ZK_PATH_MAX];

    assert(own->where == HF_ZK_UNSURE);
    if (reply->error == HF_ZK_CONNECTION_LOSS) {
        hf_task_finish(&task->base, HF_EDOWN);
        return;
    }
    downgraded_path(zk, task, path);
    struct hf_zk_text text = { path, strlen(path) };
    if (reply->error != 0) {
        hf_zk_own_set(zk, own, HF_ZK_THERE); /* nothing was changed */
    } else {
        hf_zk_own_left_line(zk, own);
        if (hf_zk_own_found(zk, own, text, &stat) < 0) {
            hf_task_fail(&task->base, HF_ENOMEM, "out of memory");
            return;
        }
    }
    if (hf_zk_task_failed(zk, task, reply->error, "downgrade", own->path))
        return;
    if (reply->error == HF_ZK_NO_NODE)
        hf_zk_own_taken(zk, own);
    hf_zk_list_and_answer(zk, task);
}

static void rename_node(struct hf_zk *zk, struct hf_zk_task *task)
{
    struct hf_zk_own    *own = task->own;
    const struct hf_req *req = task->base.req;
    char                 path[HF_ZK_PATH_MAX];
    char                *text;

    if (asprintf(&text, "%s\ntoken=%llu", req->note != NULL ? req->note : "",
                 (unsigned long long)own->token) < 0) {
        hf_task_fail(&task->base, HF_ENOMEM, "out of memory");
        return;
    }
    downgraded_path(zk, task, path);
    hf_zk_own_unlisten(zk, own, true);
    hf_zk_own_set(zk, own, HF_ZK_UNSURE);
    hf_zk_multi_begin(zk, &task->call[0], on_renamed, task);
    hf_zk_multi_create(zk, path, text, HF_ZK_EPHEMERAL);
    hf_zk_multi_delete(zk, own->path);
    hf_zk_multi_end(zk);
    free(text);
}

static void downgrade_place(struct hf_zk *zk, struct hf_zk_task *task)
{
    struct hf_zk_own *own = task->own;

    assert(own->where != HF_ZK_UNSURE);
    if (own->where == HF_ZK_NOWHERE) /* recover.c did not find it */
        hf_zk_own_set(zk, own, HF_ZK_TAKEN);
    if (own->where == HF_ZK_THERE && task->base.req->shape.weight < own->shape.weight)
        rename_node(zk, task);
    else
        hf_zk_list_and_answer(zk, task);
}

void hf_zk_downgrade(struct hf_zk *zk, struct hf_zk_task *task)
{
    task->own = hf_zk_own_find(zk, task->base.req->id);
    if (task->own == NULL)
        hf_zk_list_and_answer(zk, task);
    else if (task->own->where == HF_ZK_UNSURE)
        hf_zk_recover(zk, task, downgrade_place);
    else
        downgrade_place(zk, task);
}
