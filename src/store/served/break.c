/* break.c - BREAK and ASK, and PROVE by a token: anybody's place. */
#include "store/served/served.h"

#include <assert.h>

static void gone(struct hf_served_task *task)
{
    const struct hf_req *req = task->base.req;

    hf_task_fail(&task->base, req->op == HF_PROVE ? HF_ELOST : HF_ENOTFOUND,
                 "that place in \"%.100s\" is gone", req->name);
}

static void on_reached(struct hf_served_task *task, int code, const void *reply)
{
    (void)reply;
    if (code == HF_SERVED_DONE)
        hf_task_finish(&task->base, 0);
    else
        gone(task);
}

void hf_served_break(struct hf_served_task *task)
{
    struct hf_served    *served = hf_served_of(task);
    const struct hf_req *req = task->base.req;

    assert(req->op == HF_BREAK || req->op == HF_ASK);
    if (req->token != 0 && req->token != req->seq) { /* here they are the same */
        gone(task);
        return;
    }
    served->ops->begin(task);
    served->ops->add_seq(served, req->seq);
    if (req->op == HF_ASK)
        served->ops->add_note(served, req->note);
    hf_served_send(task, on_reached);
}

void hf_served_prove_token(struct hf_served_task *task)
{
    struct hf_served *served = hf_served_of(task);

    assert(task->base.req->op == HF_PROVE && task->base.req->id == 0);
    served->ops->begin(task);
    served->ops->add_seq(served, task->base.req->token);
    hf_served_send(task, on_reached);
}
