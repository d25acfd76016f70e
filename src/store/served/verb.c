/* verb.c - what verbs have in common, whatever the server. */
#include "store/served/served.h"

#include "core/lease.h"

void hf_served_remember_news(struct hf_served_task *task)
{
    const struct hf_served_place *place =
        hf_served_place_find(hf_served_of(task), task->base.req->id);

    task->news = place != NULL ? place->news : 0;
    task->asks = place != NULL ? place->asks : 0;
}

/* ---- ENTER ------------------------------------------------------------------------------- */

bool hf_served_enter(struct hf_served_task *task)
{
    struct hf_served *served = hf_served_of(task);

    if (hf_served_place_find(served, task->base.req->id) == NULL &&
        hf_served_place_new(served, task->base.req) == NULL) {
        hf_task_fail(&task->base, HF_ENOMEM, "out of memory");
        return false;
    }
    hf_served_remember_news(task);
    return true;
}

void hf_served_not_entered(struct hf_served_task *task, bool mismatch)
{
    const struct hf_req *req = task->base.req;

    hf_served_place_drop(hf_served_of(task), req->id);
    if (mismatch)
        hf_task_fail(&task->base, HF_EMISMATCH,
                     "others use \"%.100s\" as another kind of lock", req->name);
    else
        hf_task_fail(&task->base, HF_EFULL, "%u wait for \"%.100s\" already", req->limit,
                     req->name);
}

/* ---- LEAVE ------------------------------------------------------------------------------- */

struct hf_served_place *hf_served_leave(struct hf_served_task *task)
{
    struct hf_served_place *place =
        hf_served_place_find(hf_served_of(task), task->base.req->id);

    if (place != NULL)
        place->leaving = true;
    return place;
}

void hf_served_left(struct hf_served_task *task, bool lost)
{
    hf_served_place_drop(hf_served_of(task), task->base.req->id);
    if (lost)
        hf_task_fail(&task->base, HF_ELOST, "\"%.100s\" had been taken away from us",
                     task->base.req->name);
    else
        hf_task_finish(&task->base, 0);
}

/* ---- Places of others -------------------------------------------------------------------- */

void hf_served_reached(struct hf_served_task *task, bool found)
{
    const struct hf_req *req = task->base.req;

    if (found)
        hf_task_finish(&task->base, 0);
    else
        hf_task_fail(&task->base, req->op == HF_PROVE ? HF_ELOST : HF_ENOTFOUND,
                     "that place in \"%.100s\" is gone", req->name);
}

/* ---- The lease --------------------------------------------------------------------------- */

void hf_served_extend(struct hf_served *served, hf_time sent, hf_time ttl)
{
    hf_time guard = ttl / 40 < 50 * HF_MS ? ttl / 40 : 50 * HF_MS;
    hf_time until = hf_lease_deadline(sent, ttl, guard);

    if (until > served->base.alive_until) /* each was proven: the latest holds */
        served->base.alive_until = until;
}
