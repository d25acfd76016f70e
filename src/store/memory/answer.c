/* answer.c - what a world shows of its lines: copies, so that they can travel. */
#include "store/memory/world.h"

#include "base/grow.h"
#include "holdfast.h"

#include <stdlib.h>
#include <string.h>

void hf_answer_finish(struct hf_answer *answer)
{
    free(answer->ticket);
    free(answer->text);
    hf_finding_list_clear(&answer->findings);
    *answer = (struct hf_answer){ 0 };
}

/* Room for so many tickets, and for so many bytes of their strings. */
static bool reserve_answer(struct hf_answer *answer, size_t tickets, size_t bytes)
{
    struct hf_ticket *ticket =
        hf_grow(answer->ticket, &answer->room, tickets + 1, sizeof *ticket);
    if (ticket == NULL)
        return false;
    answer->ticket = ticket;
    char *text = hf_grow(answer->text, &answer->text_room, bytes + 1, 1);
    if (text == NULL)
        return false;
    answer->text = text;
    return true;
}

static bool keeps_out(uint64_t ahead, const struct hf_shape *nearest,
                      const struct hf_shape *shape)
{
    return !hf_shape_agrees(nearest, shape) || ahead + shape->weight > shape->capacity;
}

/* The nearest tickets up to `end`, back to where they alone keep `shape` out:
 * who stands behind needs to know no more (see hf_line_judge). */
static struct hf_place *near_part(struct hf_place *end, const struct hf_shape *shape,
                                  size_t *count)
{
    struct hf_place *first = NULL;
    uint64_t         weight = 0;

    *count = 0;
    for (struct hf_place *place = end; place != NULL; place = place->prev) {
        first = place;
        ++*count;
        weight += place->ticket.shape.weight;
        if (shape != NULL && keeps_out(weight, &place->ticket.shape, shape))
            break;
    }
    return first;
}

/* Leave the strings behind, but for the word left at the asker's own place. */
static int copy_asked(struct hf_answer *answer, const char *asked)
{
    for (size_t i = 0; i < answer->count; i++)
        answer->ticket[i].line = answer->ticket[i].note = NULL;
    if (asked == NULL)
        return 0;

    size_t size = strlen(asked) + 1;
    if (!reserve_answer(answer, answer->count, size))
        return HF_ENOMEM;
    memcpy(answer->text, asked, size);
    answer->ticket[answer->me].asked = answer->text;
    return 0;
}

static uint64_t count_back(const struct hf_place *place)
{
    uint64_t count = 0;

    for (; place != NULL; place = place->prev)
        count++;
    return count;
}

int hf_answer_line(struct hf_answer *answer, const struct hf_queue *queue,
                   const struct hf_place *mine, const struct hf_shape *shape)
{
    size_t           ahead = 0;
    struct hf_place *place = NULL;

    if (mine != NULL)
        place = near_part(mine->prev, &mine->ticket.shape, &ahead);
    else if (queue != NULL)
        place = near_part(queue->last, shape, &ahead);

    answer->count = ahead + (mine != NULL);
    answer->me = ahead;
    answer->ahead = ahead + (ahead > 0 ? count_back(place->prev) : 0);
    if (!reserve_answer(answer, answer->count, 0))
        return HF_ENOMEM;
    for (size_t i = 0; i < ahead; i++, place = place->next)
        answer->ticket[i] = place->ticket;
    if (mine != NULL)
        answer->ticket[ahead] = mine->ticket;
    return copy_asked(answer, mine != NULL ? mine->asked : NULL);
}

/* Visit every place asked for: all lines, or the one of that name. */
static void each_place(const struct hf_world *world, const char *name,
                       void (*visit)(struct hf_answer *, const struct hf_place *),
                       struct hf_answer *answer)
{
    for (size_t i = 0; i < HF_WORLD_BUCKETS; i++)
        for (const struct hf_queue *q = world->queue[i]; q != NULL; q = q->next)
            if (name == NULL || strcmp(q->name, name) == 0)
                for (const struct hf_place *p = q->first; p != NULL; p = p->next)
                    visit(answer, p);
}

static void measure(struct hf_answer *answer, const struct hf_place *place)
{
    answer->count++;
    answer->me += strlen(place->queue->name) + strlen(place->note) + 2;
}

static const char *write_down(struct hf_answer *answer, const char *text)
{
    char  *to = answer->text + answer->me;
    size_t size = strlen(text) + 1;

    memcpy(to, text, size);
    answer->me += size;
    return to;
}

static void copy(struct hf_answer *answer, const struct hf_place *place)
{
    struct hf_ticket *ticket = &answer->ticket[answer->count++];

    *ticket = place->ticket;
    ticket->line = write_down(answer, place->queue->name);
    ticket->note = write_down(answer, place->note);
}

static int by_name_and_seq(const void *a, const void *b)
{
    const struct hf_ticket *x = a, *y = b;
    int                     r = strcmp(x->line, y->line);

    return r != 0 ? r : (x->seq > y->seq) - (x->seq < y->seq);
}

/* While it is made, `me` counts the bytes of text. */
int hf_answer_list(struct hf_answer *answer, const struct hf_world *world,
                   const char *name)
{
    answer->count = answer->me = 0;
    each_place(world, name, measure, answer);
    if (!reserve_answer(answer, answer->count, answer->me)) {
        answer->count = answer->me = 0;
        return HF_ENOMEM;
    }
    answer->count = answer->me = 0;
    each_place(world, name, copy, answer);
    if (answer->count > 0)
        qsort(answer->ticket, answer->count, sizeof *answer->ticket, by_name_and_seq);
    answer->me = answer->count;
    return 0;
}
