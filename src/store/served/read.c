/* read.c - READ: how it stands with the own place. */
#include "store/served/served.h"

void hf_served_read(struct hf_served_task *task)
{
    struct hf_served       *served = hf_served_of(task);
    struct hf_served_place *place = hf_served_place_find(served, task->base.req->id);

    if (!served->confirms && hf_served_show_known(task, place))
        return;
    hf_served_remember_news(task, place);
    served->ops->begin(task);
    hf_served_send(task, hf_served_shown);
}
