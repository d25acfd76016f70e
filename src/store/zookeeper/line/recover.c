/* recover.c - finds out what became of a place whose create, rename, slot or delete was
 * never answered.
 *
 *     UNSURE --barrier, listing: our uuid is not in it--> NOWHERE
 *        |                       it is: read the node
 *        +--the node is our session's--> THERE; another session's --> NOWHERE
 *        +--it is gone by now--> TAKEN: what we sent before was over when we listed
 *
 * If we were about to create its companion, that node is read, too: does it have our uuid?
 */
#include "store/zookeeper/inner.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void on_found_node(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct hf_zk_task *task = data;
    struct hf_zk_own  *own = task->own;
    struct hf_zk_text  path = { own->path, strlen(own->path) };
    struct hf_zk_stat  stat = { 0 };
    int                r = HF_ELOST;

    assert(own->where == HF_ZK_UNSURE);
    if (hf_zk_task_failed(zk, task, reply->error, "read", own->path))
        return;
    hf_zk_get_text(&reply->body);
    hf_zk_get_stat(&reply->body, &stat);
    if (reply->error == 0)
        r = hf_zk_own_found(zk, own, path, &stat);
    if (r == HF_ENOMEM) {
        hf_task_fail(&task->base, HF_ENOMEM, "out of memory");
        return;
    }
    if (r < 0)
        hf_zk_own_set(zk, own,
                      reply->error == HF_ZK_NO_NODE ? HF_ZK_TAKEN : HF_ZK_NOWHERE);
    task->on_recovered(zk, task);
}

static void on_companion_read(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct hf_zk_task *task = data;
    struct hf_zk_own  *own = task->own;

    if (hf_zk_task_failed(zk, task, reply->error, "read", own->companion->path))
        return;
    own->companion->where =
        hf_zk_is_uuid_read(reply, own->uuid) ? HF_ZK_THERE : HF_ZK_NOWHERE;
    hf_zk_call_get(zk, &task->call[0], HF_ZK_GET_DATA, own->path, on_found_node, task);
}

static void on_listed_to_recover(struct hf_zk *zk, struct hf_zk_task *task, int error)
{
    struct hf_zk_own             *own = task->own;
    const struct hf_zk_companion *companion = own->companion;

    if (hf_zk_task_failed(zk, task, error, "list", task->line->folder))
        return;
    size_t at = hf_zk_line_find_own(task->line, own);
    if (at == task->line->count) {
        hf_zk_own_set(zk, own, HF_ZK_NOWHERE);
        task->on_recovered(zk, task);
        return;
    }
    char *path = hf_zk_path_new(task->line, task->line->place[at].name);
    if (path == NULL) {
        hf_task_fail(&task->base, HF_ENOMEM, "out of memory");
        return;
    }
    free(own->path);
    own->path = path;
    if (companion != NULL && companion->where == HF_ZK_UNSURE)
        hf_zk_call_get(zk, &task->call[0], HF_ZK_GET_DATA, companion->path,
                       on_companion_read, task);
    else
        hf_zk_call_get(zk, &task->call[0], HF_ZK_GET_DATA, path, on_found_node, task);
}

/* A call on the broken connection has been carried out or never will be: the server
 * closed that connection before it greeted us on this one.  The barrier in front of the
 * listing makes sure that this server knows the outcome. */
void hf_zk_recover(struct hf_zk *zk, struct hf_zk_task *task,
                   void (*then)(struct hf_zk *zk, struct hf_zk_task *task))
{
    assert(task->own->where == HF_ZK_UNSURE);
    task->on_recovered = then;
    hf_zk_call_barrier(zk, &task->call[0], task->line->folder);
    task->on_list = on_listed_to_recover;
    hf_zk_line_list(zk, task->line, task);
}
