/* amend.c - AMEND: make the own place weigh less. */
#include "store/served/served.h"

void hf_served_amend(struct hf_served_task *task)
{
    struct hf_served    *served = hf_served_of(task);
    const struct hf_req *req = task->base.req;

    hf_served_remember_news(task, hf_served_place_find(served, req->id));
    served->ops->begin(task);
    served->ops->add_number(served, req->shape.weight);
    hf_served_send(task, hf_served_shown);
}
