/* enter.c - ENTER: take a place. */
#include "store/served/served.h"

#include <assert.h>

static void on_entered(struct hf_served_task *task, int code, const void *reply)
{
    struct hf_served    *served = hf_served_of(task);
    const struct hf_req *req = task->base.req;

    if (code == HF_SERVED_DONE) {
        hf_served_shown(task, code, reply);
        return;
    }
    hf_served_place_drop(served, req->id);
    if (code == HF_SERVED_MISMATCH)
        hf_task_fail(&task->base, HF_EMISMATCH,
                     "others use \"%.100s\" as another kind of lock", req->name);
    else
        hf_task_fail(&task->base, HF_EFULL, "%u wait for \"%.100s\" already", req->limit,
                     req->name);
}

/* There is a place before the answer comes: a message that grants it may be quicker. */
void hf_served_enter(struct hf_served_task *task)
{
    struct hf_served           *served = hf_served_of(task);
    const struct hf_served_ops *ops = served->ops;
    const struct hf_req        *req = task->base.req;
    struct hf_served_place     *place = hf_served_place_find(served, req->id);

    assert(req->id != 0); /* it is how a repeat finds its place again */
    if (place == NULL && (place = hf_served_place_new(served, req)) == NULL) {
        hf_task_fail(&task->base, HF_ENOMEM, "out of memory");
        return;
    }
    char secret[HF_SERVED_SECRET];
    hf_served_place_secret(place, secret);
    hf_served_remember_news(task, place);
    ops->begin(task);
    ops->add_wish(served, req);
    ops->add_note(served, req->note);
    ops->add_text(served, secret);
    hf_served_send(task, on_entered);
}
