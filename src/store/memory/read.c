/* read.c - READ: the line as it stands, as far as it matters to who asks.
 *
 * What is shown is copied, so that it can travel.
 */
#include "store/memory/world.h"

#include "holdfast.h"

#include <assert.h>
#include <string.h>

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
    if (!hf_answer_reserve(answer, answer->count, size))
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

    assert(mine == NULL || mine->queue == queue);
    if (mine != NULL)
        place = near_part(mine->prev, &mine->ticket.shape, &ahead);
    else if (queue != NULL)
        place = near_part(queue->last, shape, &ahead);

    answer->count = ahead + (mine != NULL);
    answer->me = ahead;
    answer->ahead = ahead + (ahead > 0 ? count_back(place->prev) : 0);
    if (!hf_answer_reserve(answer, answer->count, 0))
        return HF_ENOMEM;
    for (size_t i = 0; i < ahead; i++, place = place->next)
        answer->ticket[i] = place->ticket;
    assert(ahead == 0 || place == mine); /* nobody between is left out */
    if (mine != NULL)
        answer->ticket[ahead] = mine->ticket;
    return copy_asked(answer, mine != NULL ? mine->asked : NULL);
}

int hf_world_read(struct hf_world *world, const struct hf_session *session,
                  const struct hf_req *req, struct hf_answer *answer)
{
    struct hf_queue *queue = hf_world_line(world, req->name, false);
    struct hf_place *place = hf_session_place(session, req->id);
    bool             present = place != NULL && queue != NULL && place->queue == queue;

    answer->stamp = world->stamp;
    /* Without a place, and so without a shape to go by, the whole line. */
    return hf_answer_line(answer, queue, present ? place : NULL, NULL);
}
