/* prove.c - PROVE: is a place held?  The own one, or anybody's. */
#include "store/served/served.h"

/* If we believe to hold it and do not, its holder hears of that by WATCH, as always. */
static void on_proven(struct hf_served_task *task, int code, const void *reply)
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
        hf_served_place_news(place);
    }
    hf_task_fail(&task->base, HF_ELOST, "we do not hold \"%.100s\" (any more)",
                 task->base.req->name);
}

/* Anybody's place: its token is its seq. */
static void prove_token(struct hf_served_task *task)
{
    struct hf_served *served = hf_served_of(task);

    served->ops->begin(task);
    served->ops->add_seq(served, task->base.req->token);
    hf_served_send(task, hf_served_found);
}

/* The own place: a renewal, and a READ right behind it. */
void hf_served_prove(struct hf_served_task *task)
{
    struct hf_served *served = hf_served_of(task);

    if (task->base.req->id == 0) {
        prove_token(task);
        return;
    }
    if (!served->ops->renew(served))
        return;
    served->ops->begin(task);
    hf_served_send(task, on_proven);
}
