/* answer.c - what ENTER, READ, AMEND and LIST are answered.
 *
 * The server has decided who is granted, so a snapshot need not prove it: it shows our
 * place alone if it is granted, and else one place more, that stands for all ahead of it
 * together.
 */
#include "store/served/served.h"

#include <stdlib.h>
#include <string.h>

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

static void give(struct hf_served_task *task, const struct hf_ticket *ticket,
                 size_t count, size_t me)
{
    task->base.req->snapshot = (struct hf_line){ .ticket = ticket, .count = count };
    task->base.req->me = me;
    hf_task_finish(&task->base, 0);
}

static bool is_in_line(const struct hf_served_answer *answer)
{
    return answer->state == 'g' || answer->state == 'w';
}

static void look_in(struct hf_served *served, const struct hf_served_answer *answer)
{
    if (answer->patience > 0)
        served->ops->look_in(served, answer->patience);
}

/* ---- Taking note ----------------------------------------------------------------------------- */

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

struct hf_served_place *hf_served_take(struct hf_served_task         *task,
                                       const struct hf_served_answer *answer)
{
    struct hf_served       *served = hf_served_of(task);
    struct hf_served_place *place = hf_served_place_find(served, task->base.req->id);

    task->base.req->stamp = answer->stamp;
    if (place == NULL || !is_in_line(answer))
        return no_place(task);
    place->seq = answer->seq;
    /* It never weighs more than was asked for. */
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

/* ---- Answering ------------------------------------------------------------------------------- */

void hf_served_show_place(struct hf_served_task        *task,
                          const struct hf_served_place *place)
{
    struct hf_ticket own = own_ticket(place);

    give(task, &own, 1, 0);
}

/* Not in line: what is in the way of one of that shape, if anything is. */
static void show_no_place(struct hf_served_task         *task,
                          const struct hf_served_answer *answer)
{
    struct hf_ticket ahead = in_the_way(answer->nearest, &task->base.req->shape);
    bool             refused = answer->state == 'r';

    if (refused)
        look_in(hf_served_of(task), answer);
    give(task, &ahead, refused, refused);
}

void hf_served_show(struct hf_served_task *task, const struct hf_served_answer *answer)
{
    struct hf_served_place *place =
        hf_served_place_find(hf_served_of(task), task->base.req->id);

    if (place == NULL || !is_in_line(answer)) {
        show_no_place(task, answer);
        return;
    }
    place->read = task->news;
    place->asks -= task->asks;

    struct hf_ticket ticket[2] = {
        in_the_way(answer->nearest, &place->shape),
        own_ticket(place),
    };
    ticket[1].asked = answer->asked;
    if (!place->granted)
        look_in(hf_served_of(task), answer);
    give(task, ticket + place->granted, 2 - (size_t)place->granted, !place->granted);
}

bool hf_served_show_known(struct hf_served_task *task)
{
    struct hf_served_place *place =
        hf_served_place_find(hf_served_of(task), task->base.req->id);

    if (place == NULL || !place->told || place->seq == 0 || place->away ||
        place->doubted || place->asks > 0 || place->shape.weight != place->shape.capacity)
        return false;
    place->told = false;
    place->read = place->news;
    hf_served_show_place(task, place);
    return true;
}

/* ---- LIST -------------------------------------------------------------------------------------- */

struct hf_ticket *hf_served_tickets(struct hf_served *served, size_t count)
{
    if (count <= served->ticket_room)
        return served->ticket;

    struct hf_ticket *grown = realloc(served->ticket, count * 2 * sizeof *grown);
    if (grown == NULL)
        return NULL;
    served->ticket_room = count * 2;
    return served->ticket = grown;
}

static int by_name_and_seq(const void *a, const void *b)
{
    const struct hf_ticket *x = a, *y = b;
    int                     r = strcmp(x->line, y->line);

    return r != 0 ? r : (x->seq > y->seq) - (x->seq < y->seq);
}

void hf_served_sort(struct hf_ticket *ticket, size_t count)
{
    if (count > 1)
        qsort(ticket, count, sizeof *ticket, by_name_and_seq);
}

void hf_served_list(struct hf_served_task *task, struct hf_ticket *ticket, size_t count,
                    uint64_t stamp)
{
    hf_served_sort(ticket, count);
    task->base.req->stamp = stamp;
    give(task, ticket, count, count);
}

/* ---- PROVE and EXAMINE ---------------------------------------------------------------------------- */

void hf_served_proven(struct hf_served_task *task, char state)
{
    struct hf_served_place *place =
        hf_served_place_find(hf_served_of(task), task->base.req->id);

    bool holds = place != NULL && place->granted;
    if (state == 'g' || (state == 'w' && !holds)) {
        hf_task_finish(&task->base, 0);
        return;
    }
    if (place != NULL) {
        place->away = true;
        hf_served_place_news(place);
    }
    hf_task_fail(&task->base, HF_ELOST, "our place in \"%.100s\" is gone",
                 task->base.req->name);
}

void hf_served_findings(struct hf_served_task *task, struct hf_finding_list *list)
{
    if (list->failed) {
        hf_task_fail(&task->base, HF_ENOMEM, "out of memory");
    } else {
        task->base.req->finding = list->finding;
        task->base.req->findings = list->count;
        hf_task_finish(&task->base, 0);
    }
    hf_finding_list_clear(list);
}
