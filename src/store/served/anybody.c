/* anybody.c - what is done with anybody's place, by its token: BREAK, ASK, PROVE. */
#include "store/served/served.h"

#include <assert.h>

static void on_found(struct hf_served_task *task, int code, const void *reply)
{
    const struct hf_req *req = task->base.req;

    (void)reply;
    if (code == HF_SERVED_DONE)
        hf_task_finish(&task->base, 0);
    else
        hf_task_fail(&task->base, req->op == HF_PROVE ? HF_ELOST : HF_ENOTFOUND,
                     "that place in \"%.100s\" is gone", req->name);
}

void hf_served_anybody(struct hf_served_task *task)
{
    struct hf_served    *served = hf_served_of(task);
    const struct hf_req *req = task->base.req;

    assert(req->op == HF_BREAK || req->op == HF_ASK || req->op == HF_PROVE);
    served->ops->begin(task);
    served->ops->add_seq(served, req->token);
    if (req->op != HF_PROVE)
        served->ops->add_note(served, req->note);
    hf_served_send(task, on_found);
}
