/* verbs.c - the verbs that take one call: ENTER, DOWNGRADE, LEAVE and VERIFY of our own
 * place; BREAK, ASK and VERIFY of any place, by its token.  WATCH is in watch.c. */
#include "store/served/served.h"

#include <assert.h>

/* ---- ENTER -------------------------------------------------------------------- */

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

/* The place is made before the call: a message that grants it may overtake the answer. */
void hf_served_enter(struct hf_served_task *task)
{
    struct hf_served           *served = hf_served_of(task);
    const struct hf_served_ops *ops = served->ops;
    const struct hf_req        *req = task->base.req;
    struct hf_served_place     *place = hf_served_place_find(served, req->id);

    assert(req->id != 0); /* a repeat finds its place by it */
    if (place == NULL && (place = hf_served_place_new(served, req)) == NULL) {
        hf_task_fail(&task->base, HF_ENOMEM, "out of memory");
        return;
    }
    char secret[HF_SERVED_GRANT_SECRET];
    hf_served_grant_secret(place, secret);
    task->notified = place->notified;
    ops->begin(task);
    ops->add_wish(served, req);
    ops->add_note(served, req->note);
    ops->add_text(served, secret);
    hf_served_send(task, on_entered);
}

/* ---- DOWNGRADE ---------------------------------------------------------------- */

void hf_served_downgrade(struct hf_served_task *task)
{
    struct hf_served             *served = hf_served_of(task);
    const struct hf_req          *req = task->base.req;
    const struct hf_served_place *place = hf_served_place_find(served, req->id);

    task->notified = place != NULL ? place->notified : 0;
    served->ops->begin(task);
    served->ops->add_number(served, req->shape.weight);
    hf_served_send(task, hf_served_shown);
}

/* ---- LEAVE -------------------------------------------------------------------- */

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

/* ---- Anybody's place: BREAK, ASK, VERIFY -------------------------------------- */

static void on_found(struct hf_served_task *task, int code, const void *reply)
{
    const struct hf_served *served = hf_served_of(task);
    const struct hf_req    *req = task->base.req;

    (void)reply;
    if (code == HF_SERVED_DONE && req->op == HF_BREAK && served->confirms)
        served->ops->confirm(task);
    else if (code == HF_SERVED_DONE)
        hf_task_finish(&task->base, 0);
    else
        hf_task_fail(&task->base, req->op == HF_VERIFY ? HF_ELOST : HF_ENOTFOUND,
                     "that place in \"%.100s\" is gone", req->name);
}

void hf_served_anybody(struct hf_served_task *task)
{
    struct hf_served    *served = hf_served_of(task);
    const struct hf_req *req = task->base.req;

    assert(req->op == HF_BREAK || req->op == HF_ASK || req->op == HF_VERIFY);
    served->ops->begin(task);
    served->ops->add_seq(served, req->token);
    if (req->op != HF_VERIFY)
        served->ops->add_note(served, req->note);
    hf_served_send(task, on_found);
}

/* ---- VERIFY ------------------------------------------------------------------- */

/* If we wrongly believed that we held it, the lock's WATCH is answered as well. */
static void on_verified(struct hf_served_task *task, int code, const void *reply)
{
    struct hf_served       *served = hf_served_of(task);
    struct hf_served_place *place = hf_served_place_find(served, task->base.req->id);
    char                    state = hf_served_parse(served, reply).state;
    bool                    holds = place != NULL && place->granted;

    (void)code;
    if (state == 'g' || (state == 'w' && holds && served->ops->waiter_may_hold)) {
        hf_task_finish(&task->base, 0);
        return;
    }
    if (place != NULL && (holds || state != 'w')) {
        place->away = true;
        hf_served_place_notify(place);
    }
    hf_task_fail(&task->base, HF_ELOST, "we do not hold \"%.100s\" (any more)",
                 task->base.req->name);
}

/* Renew, and read the place right after that. */
void hf_served_verify(struct hf_served_task *task)
{
    struct hf_served *served = hf_served_of(task);

    if (task->base.req->id == 0) {
        hf_served_anybody(task);
        return;
    }
    if (!served->ops->renew(served))
        return;
    served->ops->begin_read(task);
    hf_served_send(task, on_verified);
}
