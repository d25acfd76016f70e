/* break.c - BREAK: deleting somebody else's place.
 *
 * A place is known by its token: numbers may start afresh.  The name of its node is never
 * used again.
 */
#include "store/zookeeper/inner.h"

#include <assert.h>
#include <stdlib.h>

static void on_broken(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    hf_zk_answer_done(zk, data, reply->error, HF_ENOTFOUND, "change");
}

static void break_item(struct hf_zk *zk, struct hf_zk_task *task,
                       const struct hf_zk_item *item)
{
    char  beside[HF_ZK_PATH_MAX];
    char *path = hf_zk_path_new(task->line, item->name);

    assert(item->there);
    if (path == NULL) {
        hf_task_fail(&task->base, HF_ENOMEM, "out of memory");
    } else if (item->beside != NULL) {
        size_t begin = hf_zk_call_begin(zk, &task->call[0], HF_ZK_MULTI, on_broken, task);
        hf_zk_path(task->line, item->beside, beside);
        hf_zk_multi_delete(zk, path);
        hf_zk_multi_delete(zk, beside);
        hf_zk_multi_end(zk);
        hf_zk_call_end(zk, begin);
    } else {
        hf_zk_call_delete(zk, &task->call[0], path, -1, on_broken, task);
    }
    free(path);
}

static void on_gathered_to_break(struct hf_zk *zk, struct hf_zk_task *task,
                                 const struct hf_zk_items *items)
{
    const struct hf_zk_item *item = hf_zk_items_find(items, task->base.req);

    if (item == NULL)
        hf_zk_answer_done(zk, task, HF_ZK_NO_NODE, HF_ENOTFOUND, "change");
    else
        break_item(zk, task, item);
}

void hf_zk_break(struct hf_zk *zk, struct hf_zk_task *task)
{
    hf_zk_gather(zk, task, on_gathered_to_break);
}
