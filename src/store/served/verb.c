/* verb.c - what verbs have in common, whatever the server. */
#include "store/served/served.h"

#include "core/lease.h"

/* ---- ENTER ------------------------------------------------------------------------------- */

bool hf_served_enter(struct hf_served_task *task)
{
    struct hf_served *served = task->served;

    if (hf_served_place_find(served, task->req->id) == NULL &&
        hf_served_place_new(served, task->req) == NULL) {
        hf_served_fail(task, HF_ENOMEM, "out of memory");
        return false;
    }
    hf_served_remember_news(task);
    return true;
}

void hf_served_not_entered(struct hf_served_task *task, bool mismatch)
{
    const struct hf_req *req = task->req;

    hf_served_place_drop(task->served, req->id);
    if (mismatch)
        hf_served_fail(task, HF_EMISMATCH,
                       "others use \"%.100s\" as another kind of lock", req->name);
    else
        hf_served_fail(task, HF_EFULL, "%u wait for \"%.100s\" already", req->limit,
                       req->name);
}

/* ---- LEAVE ------------------------------------------------------------------------------- */

struct hf_served_place *hf_served_leave(struct hf_served_task *task)
{
    struct hf_served_place *place = hf_served_place_find(task->served, task->req->id);

    if (place != NULL)
        place->leaving = true;
    return place;
}

void hf_served_left(struct hf_served_task *task, bool lost)
{
    hf_served_place_drop(task->served, task->req->id);
    if (lost)
        hf_served_fail(task, HF_ELOST, "\"%.100s\" had been taken away from us",
                       task->req->name);
    else
        hf_served_finish(task, 0);
}

/* ---- Places of others -------------------------------------------------------------------- */

void hf_served_reached(struct hf_served_task *task, bool found)
{
    const struct hf_req *req = task->req;

    if (found)
        hf_served_finish(task, 0);
    else
        hf_served_fail(task, req->op == HF_PROVE ? HF_ELOST : HF_ENOTFOUND,
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
