/* leave.c - LEAVE: give the own place up. */
#include "store/served/served.h"

static void on_left(struct hf_served_task *task, int code, const void *reply)
{
    struct hf_served *served = hf_served_of(task);
    bool              lost = served->ops->number(reply, 1) != 0;

    (void)code;
    hf_served_place_drop(served, task->base.req->id);
    if (lost)
        hf_task_fail(&task->base, HF_ELOST, "\"%.100s\" had been taken away from us",
                     task->base.req->name);
    else
        hf_task_finish(&task->base, 0);
}

void hf_served_leave(struct hf_served_task *task)
{
    struct hf_served       *served = hf_served_of(task);
    struct hf_served_place *place = hf_served_place_find(served, task->base.req->id);

    if (place != NULL)
        place->leaving = true;
    served->ops->begin(task);
    hf_served_send(task, on_left);
}
