/* anybody.c - anybody's place, by its token: what BREAK, ASK and PROVE by a token share. */
#include "store/served/served.h"

#include <assert.h>

static void place_is_gone(struct hf_served_task *task)
{
    const struct hf_req *req = task->base.req;

    hf_task_fail(&task->base, req->op == HF_PROVE ? HF_ELOST : HF_ENOTFOUND,
                 "that place in \"%.100s\" is gone", req->name);
}

void hf_served_found(struct hf_served_task *task, int code, const void *reply)
{
    (void)reply;
    if (code == HF_SERVED_DONE)
        hf_task_finish(&task->base, 0);
    else
        place_is_gone(task);
}

void hf_served_begin_other(struct hf_served_task *task)
{
    struct hf_served    *served = hf_served_of(task);
    const struct hf_req *req = task->base.req;

    assert(req->op == HF_BREAK || req->op == HF_ASK);
    served->ops->begin(task);
    served->ops->add_seq(served, req->token);
}
