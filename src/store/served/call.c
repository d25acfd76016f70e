/* call.c - a call of the server, and how its answer is checked before the verb gets it.
 */
#include "store/served/served.h"

#include <assert.h>

void hf_served_sent(struct hf_served_task *task)
{
    assert(!task->flying);
    task->flying = true;
    hf_remote_sent(task->base.remote);
}

void hf_served_send(struct hf_served_task *task, hf_served_on_answer *on_answer)
{
    assert(on_answer != NULL);
    hf_served_sent(task);
    task->session = hf_served_of(task)->session;
    task->on_answer = on_answer;
    hf_served_of(task)->ops->send(task);
}

/* The server did nothing, or nothing that counts, because the session has changed.  If
 * we have given that session up meanwhile, the present one is not affected. */
static void session_changed(struct hf_served_task *task, enum hf_served_code code)
{
    struct hf_served           *served = hf_served_of(task);
    const struct hf_served_ops *ops = served->ops;

    assert(task->session <= served->session);
    if (task->session != served->session) {
        hf_task_finish(&task->base, HF_EDOWN);
        return;
    }
    switch (code) {
    case HF_SERVED_EPOCH:
        hf_task_again(&task->base);
        ops->session_again(served);
        break;
    case HF_SERVED_GONE:
        hf_task_finish(&task->base, HF_EDOWN);
        if (hf_dial_status(served->remote.dial) > 0)
            ops->session_gone(served);
        break;
    default:
        assert(code == HF_SERVED_STALE);
        hf_task_finish(&task->base, HF_EDOWN);
        hf_dial_break(served->remote.dial, "has a newer connection of ours");
        break;
    }
}

static void take_answer(struct hf_served_task *task, const void *reply)
{
    const struct hf_served_ops *ops = hf_served_of(task)->ops;
    int                         code = (int)ops->number(reply, 0);

    if ((code == HF_SERVED_EPOCH && ops->session_again != NULL) ||
        code == HF_SERVED_GONE || code == HF_SERVED_STALE)
        session_changed(task, (enum hf_served_code)code);
    else
        task->on_answer(task, code, reply);
}

bool hf_served_failed(struct hf_served_task *task, enum hf_served_fault fault,
                      const void *reply)
{
    struct hf_served *served = hf_served_of(task);

    assert(task->flying);
    task->flying = false;
    hf_remote_answered(&served->remote);
    if (reply == NULL) {
        hf_task_finish(&task->base, HF_EDOWN);
        return true;
    }
    switch (fault) {
    case HF_SERVED_FINE:
        return false;
    case HF_SERVED_AGAIN:
        hf_task_again(&task->base);
        break;
    case HF_SERVED_DOWN:
    case HF_SERVED_MISSING: /* hello creates it again */
        hf_task_finish(&task->base, HF_EDOWN);
        hf_dial_break(served->remote.dial, NULL);
        break;
    case HF_SERVED_DENIED:
        hf_task_finish(&task->base, HF_EDENIED);
        break;
    case HF_SERVED_OTHER:
    case HF_SERVED_FAILED:
        hf_task_finish(&task->base, HF_ESTORE);
        break;
    }
    return true;
}

void hf_served_answered(struct hf_served_task *task, enum hf_served_fault fault,
                        const void *reply)
{
    if (!hf_served_failed(task, fault, reply))
        take_answer(task, reply);
}
