/* answer.c - how a place stands: the answer to ENTER, DOWNGRADE and the WATCH of a place.
 *
 * The server decides who is granted.  We store its last answer at the place, and every
 * request is answered from that.
 */
#include "store/served/served.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define DAY_US ((int64_t)24 * 3600 * 1000000) /* no wait without a renewal is longer */

/* { code, state, seq, slot, since, weight, ahead, asked, patience }.  Missing parts at
 * the end are 0: in an empty line the place is as requested. */
struct hf_served_answer hf_served_parse(const struct hf_served *served, const void *reply)
{
    const struct hf_served_ops *ops = served->ops;
    const char                 *state = ops->text(reply, 1);
    int64_t                     patience = ops->number(reply, 8);

    return (struct hf_served_answer){
        .state = state != NULL ? state[0] : '-',
        .seq = (uint64_t)ops->number(reply, 2),
        .slot = (int)ops->number(reply, 3),
        .since = ops->number(reply, 4),
        .weight = (uint32_t)ops->number(reply, 5),
        .ahead = (uint64_t)ops->number(reply, 6),
        .asked = ops->text(reply, 7),
        .patience = patience < DAY_US ? patience : DAY_US,
    };
}

static void renew_in_time(struct hf_served *served, const struct hf_served_answer *answer)
{
    if (answer->patience > 0 && served->ops->renew_in != NULL)
        served->ops->renew_in(served, answer->patience);
}

/* ---- Taking note -------------------------------------------------------------- */

/* Out of memory: as if nobody asked. */
static void note_asked(struct hf_served_place *place, const char *asked)
{
    free(place->asked);
    place->asked = asked != NULL ? strdup(asked) : NULL;
}

static void take_note(struct hf_served *served, struct hf_served_place *place,
                      const struct hf_served_answer *answer)
{
    place->seq = answer->seq;
    if (answer->seq > served->token)
        served->token = answer->seq;
    /* never more than requested */
    if (answer->weight >= 1 && answer->weight < place->shape.weight)
        place->shape.weight = answer->weight;
    place->doubted = false;
    place->ahead = answer->ahead;
    note_asked(place, answer->asked);
    if (answer->state == 'g') { /* else a message may have overtaken this answer */
        place->granted = true;
        place->slot = answer->slot;
        place->since = answer->since;
    }
}

/* ---- Answering ---------------------------------------------------------------- */

struct hf_standing hf_served_standing(const struct hf_served_place *place)
{
    struct hf_standing standing = { .state = HF_STAND_NONE, .slot = -1 };

    if (place == NULL || place->away)
        return standing;
    standing.state = place->granted ? HF_STAND_HOLDS : HF_STAND_WAITS;
    standing.token = place->seq;
    standing.weight = place->shape.weight;
    standing.ahead = place->granted ? 0 : place->ahead;
    standing.slot = place->granted ? place->slot : -1;
    standing.asked = place->granted ? place->asked : NULL;
    return standing;
}

void hf_served_show(struct hf_served_task *task)
{
    struct hf_served_place *place =
        hf_served_place_find(hf_served_of(task), task->base.req->id);

    if (task->base.req->op == HF_WATCH) {
        hf_served_watch_place(task);
        return;
    }
    task->base.req->standing = hf_served_standing(place);
    hf_task_finish(&task->base, 0);
}

/* ENTER got no place: the lock was not free, or the place was taken away meanwhile. */
static void show_no_place(struct hf_served_task         *task,
                          const struct hf_served_answer *answer)
{
    bool refused = answer->state == 'r';

    assert(task->base.req->op == HF_ENTER);
    hf_served_place_drop(hf_served_of(task), task->base.req->id);
    if (refused) {
        renew_in_time(hf_served_of(task), answer);
        task->base.req->standing.token = answer->seq;
    }
    hf_task_finish(&task->base, refused ? HF_EBUSY : 0);
}

/* Replicas confirm what was written before on our connection.  An answer "granted" came
 * after the grant was written.  Any other answer was overtaken by the message with the
 * grant, so the grant is younger than the answer: read the place first. */
static void confirm(struct hf_served_task *task, const struct hf_served_place *place,
                    const struct hf_served_answer *answer)
{
    if (answer->state == 'g')
        hf_served_of(task)->ops->confirm(task);
    else
        hf_served_read(task, place);
}

void hf_served_read(struct hf_served_task *task, const struct hf_served_place *place)
{
    task->notified = place->notified;
    hf_served_of(task)->ops->begin_read(task);
    hf_served_send(task, hf_served_shown);
}

void hf_served_shown(struct hf_served_task *task, int code, const void *reply)
{
    struct hf_served       *served = hf_served_of(task);
    struct hf_served_answer answer = hf_served_parse(served, reply);
    struct hf_served_place *place = hf_served_place_find(served, task->base.req->id);
    bool                    there = answer.state == 'g' || answer.state == 'w';

    (void)code;
    if (!there && task->base.req->op == HF_ENTER) {
        show_no_place(task, &answer);
        return;
    }
    if (place != NULL) {
        assert(task->notified <= place->notified);
        place->read = task->notified;
        place->away |= !there;
        if (there)
            take_note(served, place, &answer);
        if (there && !place->granted)
            renew_in_time(served, &answer);
    }
    if (place != NULL && there && hf_served_is_unsafe(served, place))
        confirm(task, place, &answer);
    else
        hf_served_show(task);
}
