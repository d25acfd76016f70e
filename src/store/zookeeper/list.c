/* list.c - LIST: every place with its note. */
#include "store/zookeeper/inner.h"

#include <stdlib.h>

static void on_gathered_to_list(struct hf_zk *zk, struct hf_zk_task *task,
                                const struct hf_zk_items *items)
{
    size_t            count;
    struct hf_ticket *ticket = hf_zk_items_tickets(items, &count);

    (void)zk;
    if (ticket == NULL) {
        hf_task_fail(&task->base, HF_ENOMEM, "out of memory");
        return;
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
