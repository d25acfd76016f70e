/* remote_fake.c - see remote_fake.h. */
#include "unit/lib/remote_fake.h"

#include <stdio.h>

struct fake fake;

static void tell(char letter, uint64_t id)
{
    size_t used = strlen(fake.told);

    snprintf(fake.told + used, sizeof fake.told - used, "%s%c%d", used > 0 ? " " : "",
             letter, (int)id);
}

/* ---- The store ----------------------------------------------------------------- */

void fake_send(struct hf_task *task)
{
    ((struct fake_task *)task)->flying = true;
    hf_remote_sent(&fake.remote);
}

void fake_answer(struct hf_task *task)
{
    if (((struct fake_task *)task)->flying)
        hf_remote_answered(&fake.remote);
    ((struct fake_task *)task)->flying = false;
}

static void begin(struct hf_task *task)
{
    struct fake_task *mine = (struct fake_task *)task;

    mine->id = task->req->id;
    if (task->req->op != HF_WATCH)
        fake_send(task);
    tell('b', mine->id);
    if (fake.at_once) {
        fake_answer(task);
        hf_task_finish(task, 0);
    }
}

static void end_watch(struct hf_task *task)
{
    tell('w', task->req->id);
    if (!((struct fake_task *)task)->flying)
        hf_task_finish(task, HF_ECANCELED);
}

static void end_task(struct hf_task *task)
{
    tell('e', task->req->id);
    assert_false(((struct fake_task *)task)->flying);
}

static void free_task(struct hf_task *task)
{
    tell('f', ((struct fake_task *)task)->id); /* the request may be freed by now */
}

static bool may_have(const struct hf_remote *remote, uint64_t id)
{
    (void)remote;
    return id == fake.place;
}

static void lose(struct hf_remote *remote)
{
    tell('l', 0);
    while (remote->tasks != NULL) {
        fake_answer(remote->tasks);
        hf_task_finish(remote->tasks, HF_EDOWN);
    }
}

static const struct hf_remote_ops ops = {
    .task_size = sizeof(struct fake_task),
    .begin = begin,
    .end_watch = end_watch,
    .end_task = end_task,
    .free_task = free_task,
    .may_have = may_have,
    .lose = lose,
};

/* ---- Its user ------------------------------------------------------------------ */

static void on_done(struct hf_req *it)
{
    tell('d', it->id);
    fake.answers[it->id]++;
    assert_null(it->work);
    if (fake.in_done != NULL)
        fake.in_done(it);
}

void fake_dial(int status)
{
    fake.dial.refusal = status < 0 ? status : 0;
    fake.dial.phase = status > 0 ? HF_DIAL_READY : HF_DIAL_RESTING;
}

int fake_start(void **state)
{
    (void)state;
    memset(&fake, 0, sizeof fake);
    hf_remote_init(&fake.remote, &ops, &fake.dial);
    fake_dial(1);
    return 0;
}

void fake_submit_this(struct hf_req *req, enum hf_op op)
{
    req->op = op;
    req->name = "a";
    req->done = on_done;
    req->status = 1;
    fake.remote.base.wake = HF_NEVER;
    hf_remote_submit(&fake.remote.base, req);
    assert_int_equal(fake.remote.base.wake, 0);
}

void fake_submit(uint64_t id, enum hf_op op)
{
    fake.req[id].id = id;
    fake_submit_this(&fake.req[id], op);
}

void fake_cancel(uint64_t id)
{
    fake.remote.base.wake = HF_NEVER;
    hf_remote_cancel(&fake.remote.base, &fake.req[id]);
    assert_int_equal(fake.remote.base.wake, 0);
}

void fake_run(void)
{
    assert_false(hf_remote_run(&fake.remote));
}

struct hf_task *fake_task(uint64_t id)
{
    assert_non_null(fake.req[id].work);
    fake_answer(fake.req[id].work);
    return fake.req[id].work;
}

/* With requests still at work or not. */
int fake_stop(void **state)
{
    (void)state;
    for (struct hf_task *task = fake.remote.tasks; task != NULL; task = task->next)
        fake_answer(task);
    hf_remote_hush(&fake.remote);
    hf_remote_finish(&fake.remote);
    return 0;
}
