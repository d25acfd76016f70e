/* ask.c - ASK: ask the owner of any place to give it up. */
#include "store/served/served.h"

void hf_served_ask(struct hf_served_task *task)
{
    struct hf_served *served = hf_served_of(task);

    hf_served_begin_other(task);
    served->ops->add_note(served, task->base.req->note);
    hf_served_send(task, hf_served_found);
}
