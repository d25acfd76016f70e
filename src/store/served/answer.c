/* answer.c - how it stands with a place: what ENTER, READ, AMEND and PROVE are answered.
 *
 * The server has decided who is granted, so a snapshot need not prove it: it shows our
 * place alone if it is granted, and else one place more, that stands for all ahead of it
 * together.
 */
#include "store/served/served.h"

#include <assert.h>

#define DAY_US ((int64_t)24 * 3600 * 1000000) /* nobody waits longer without a renewal */

static struct hf_ticket in_the_way(uint64_t seq, const struct hf_shape *shape)
{
    struct hf_shape all = { .weight = shape->capacity,
                            .capacity = shape->capacity,
                            .claim = shape->claim };

    return (struct hf_ticket){ .seq = seq, .token = seq, .shape = all, .slot = -1 };
}

static struct hf_ticket own_ticket(const struct hf_served_place *place)
{
    return (struct hf_ticket){ .seq = place->seq,
                               .token = place->seq,
                               .shape = place->shape,
                               .slot = place->slot,
                               .since = place->since };
}

void hf_served_give(struct hf_served_task *task, const struct hf_ticket *ticket,
                    size_t count, size_t me)
{
    assert(me <= count);
    task->base.req->snapshot = (struct hf_line){ .ticket = ticket, .count = count };
    task->base.req->me = me;
    hf_task_finish(&task->base, 0);
}

/* { code, state, stamp, seq, slot, since, weight, ahead, nearest, asked, patience }.
 * What is left out at the end is 0: where nobody else is, the place is as it was
 * wanted. */
struct hf_served_answer hf_served_parse(const struct hf_served *served, const void *reply)
{
    const struct hf_served_ops *ops = served->ops;
    const char                 *state = ops->text(reply, 1);
    int64_t                     patience = ops->number(reply, 10);

    return (struct hf_served_answer){
        .state = state != NULL ? state[0] : '-',
        .stamp = (uint64_t)ops->number(reply, 2),
        .seq = (uint64_t)ops->number(reply, 3),
        .slot = (int)ops->number(reply, 4),
        .since = ops->number(reply, 5),
        .weight = (uint32_t)ops->number(reply, 6),
        .ahead = (uint64_t)ops->number(reply, 7),
        .nearest = (uint64_t)ops->number(reply, 8),
        .asked = ops->text(reply, 9),
        .patience = patience < DAY_US ? patience : DAY_US,
    };
}

static bool is_in_line(const struct hf_served_answer *answer)
{
    return answer->state == 'g' || answer->state == 'w';
}

static void renew_in_time(struct hf_served *served, const struct hf_served_answer *answer)
{
    if (answer->patience > 0 && served->ops->renew_in != NULL)
        served->ops->renew_in(served, answer->patience);
}

/* ---- Taking note ---------------------------------------------------------------- */

static struct hf_served_place *no_place(struct hf_served_task *task)
{
    struct hf_served_place *place =
        hf_served_place_find(hf_served_of(task), task->base.req->id);

    if (task->base.req->op == HF_ENTER)
        hf_served_place_drop(hf_served_of(task), task->base.req->id);
    else if (place != NULL)
        place->away = true;
    return NULL;
}

/* The place, or NULL if there is none (any more). */
static struct hf_served_place *take_note(struct hf_served_task         *task,
                                         const struct hf_served_answer *answer)
{
    struct hf_served       *served = hf_served_of(task);
    struct hf_served_place *place = hf_served_place_find(served, task->base.req->id);

    task->base.req->stamp = answer->stamp;
    if (place == NULL || !is_in_line(answer))
        return no_place(task);
    place->seq = answer->seq;
    /* It never weighs more than was wanted. */
    if (answer->weight >= 1 && answer->weight < place->shape.weight)
        place->shape.weight = answer->weight;
    place->doubted = false;
    if (answer->seq > served->token)
        served->token = answer->seq;
    if (answer->state == 'g') { /* else a message may have overtaken this answer */
        place->granted = true;
        place->told = false;
        place->slot = answer->slot;
        place->since = answer->since;
    }
    task->base.req->ahead = answer->ahead;
    return place;
}

/* ---- Answering ------------------------------------------------------------------ */

void hf_served_show_place(struct hf_served_task        *task,
                          const struct hf_served_place *place)
{
    struct hf_ticket own = own_ticket(place);

    hf_served_give(task, &own, 1, 0);
}

/* Not in line: what is in the way of one of that shape, if anything is. */
static void show_no_place(struct hf_served_task         *task,
                          const struct hf_served_answer *answer)
{
    struct hf_ticket ahead = in_the_way(answer->nearest, &task->base.req->shape);
    bool             refused = answer->state == 'r';

    if (refused)
        renew_in_time(hf_served_of(task), answer);
    hf_served_give(task, &ahead, refused, refused);
}

static void show(struct hf_served_task *task, const struct hf_served_answer *answer,
                 struct hf_served_place *place)
{
    assert(task->news <= place->news);
    place->read = task->news;
    /* Another READ at the same time may have told of the same. */
    place->asks -= task->asks < place->asks ? task->asks : place->asks;

    struct hf_ticket ticket[2] = {
        in_the_way(answer->nearest, &place->shape),
        own_ticket(place),
    };
    ticket[1].asked = answer->asked;
    if (!place->granted)
        renew_in_time(hf_served_of(task), answer);
    hf_served_give(task, ticket + place->granted, 2 - (size_t)place->granted,
                   !place->granted);
}

void hf_served_shown(struct hf_served_task *task, int code, const void *reply)
{
    struct hf_served       *served = hf_served_of(task);
    struct hf_served_answer answer = hf_served_parse(served, reply);
    struct hf_served_place *place = take_note(task, &answer);

    (void)code;
    if (place == NULL)
        show_no_place(task, &answer);
    else if (served->confirms && place->granted && !place->safe)
        served->ops->confirm(task);
    else
        show(task, &answer, place);
}

bool hf_served_show_known(struct hf_served_task *task, struct hf_served_place *place)
{
    if (place == NULL || !place->told || place->seq == 0 || place->away ||
        place->doubted || place->asks > 0 || place->shape.weight != place->shape.capacity)
        return false;
    assert(place->granted);
    place->told = false;
    place->read = place->news;
    hf_served_show_place(task, place);
    return true;
}

void hf_served_remember_news(struct hf_served_task        *task,
                             const struct hf_served_place *place)
{
    task->news = place != NULL ? place->news : 0;
    task->asks = place != NULL ? place->asks : 0;
}
