/* list.c - LIST: every place with its note. */
#include "store/zookeeper/inner.h"

#include <stdlib.h>

static void on_gathered_to_list(struct hf_zk *zk, struct hf_zk_task *task,
                                const struct hf_zk_items *items)
{
    struct hf_ticket *ticket = calloc(items->count + 1, sizeof *ticket);
    size_t            count = 0;

    (void)zk;
    if (ticket == NULL) {
        hf_task_fail(&task->base, HF_ENOMEM, "out of memory");
        return;
    }
    for (size_t i = 0; i < items->count; i++) {
        const struct hf_zk_item *item = &items->item[i];
        if (!item->there || item->child.style == HF_ZK_SLOT)
            continue;
        ticket[count++] = (struct hf_ticket){ .seq = item->seq,
                                              .token = item->token,
                                              .shape = item->child.shape,
                                              .slot = item->slot,
                                              .since = item->since,
                                              .line = item->line,
                                              .note = item->note };
    }
    task->base.req->snapshot = (struct hf_line){ ticket, count };
    task->base.req->me = count;
    task->base.req->stamp = items->stamp;
    hf_task_finish(&task->base, 0);
    free(ticket);
}

void hf_zk_list(struct hf_zk *zk, struct hf_zk_task *task)
{
    hf_zk_gather(zk, task, on_gathered_to_list);
}
