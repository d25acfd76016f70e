/* queue.c - one line: its places and grants. */
#include "store/memory/world.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct hf_queue *hf_queue_new(const char *name)
{
    struct hf_queue *queue = calloc(1, sizeof *queue);
    if (queue == NULL)
        return NULL;
    queue->name = strdup(name);
    if (queue->name == NULL) {
        free(queue);
        return NULL;
    }
    return queue;
}

void hf_queue_free(struct hf_queue *queue)
{
    assert(queue->first == NULL && queue->watches.first == NULL);
    assert(queue->all.count == 0 && queue->waiting == 0);
    free(queue->name);
    free(queue);
}

void hf_world_place_free(struct hf_world_place *place)
{
    assert(place->queue == NULL && place->watches.first == NULL);
    free(place->asked);
    free(place->note);
    free(place);
}

static bool slot_taken(const struct hf_queue *queue, int slot)
{
    for (struct hf_world_place *place = queue->first; place != NULL && place->granted;
         place = place->next)
        if (place->place.slot == slot)
            return true;
    return false;
}

static void grant_place(struct hf_queue *queue, struct hf_world_place *place,
                        int64_t wall)
{
    assert(place->prev == NULL || place->prev->granted);
    if (hf_shape_has_slots(&place->place.shape)) {
        int slot = 0;
        while (slot_taken(queue, slot))
            slot++;
        place->place.slot = slot;
    }
    place->place.since = wall;
    place->granted = true;
}

/* A granted place stays granted until it leaves: nobody joins ahead, and no weight
 * grows. */
void hf_queue_settle(struct hf_queue *queue, int64_t wall)
{
    struct hf_sum ahead = { 0 };

    queue->waiting = 0;
    for (struct hf_world_place *place = queue->first; place != NULL;
         place = place->next) {
        place->ahead = ahead.count;
        bool passes = hf_sum_next(&ahead, &place->place.shape);
        assert(passes || !place->granted);
        if (passes && !place->granted)
            grant_place(queue, place, wall);
        queue->waiting += !passes;
    }
    queue->all = ahead;
}

/* S1 order: a new place has the highest seq and stands behind all others. */
void hf_queue_join(struct hf_queue *queue, struct hf_world_place *place)
{
    assert(queue->last == NULL || queue->last->place.seq < place->place.seq);
    assert(place->queue == NULL && !place->granted);
    place->queue = queue;
    place->prev = queue->last;
    place->place.line = queue->name;
    place->place.note = place->note;
    place->place.slot = -1;
    if (queue->last != NULL)
        queue->last->next = place;
    else
        queue->first = place;
    queue->last = place;
}

void hf_queue_part(struct hf_world_place *place)
{
    struct hf_queue *queue = place->queue;

    if (place->prev != NULL)
        place->prev->next = place->next;
    else
        queue->first = place->next;
    if (place->next != NULL)
        place->next->prev = place->prev;
    else
        queue->last = place->prev;
    place->prev = place->next = NULL;
    place->queue = NULL;
    place->granted = false;
    assert((queue->first == NULL) == (queue->last == NULL));
}

struct hf_standing hf_world_place_standing(const struct hf_world_place *place)
{
    if (place == NULL || place->queue == NULL)
        return (struct hf_standing){ .state = HF_STAND_NONE, .slot = -1 };
    return (struct hf_standing){
        .state = place->granted ? HF_STAND_HOLDS : HF_STAND_WAITS,
        .token = place->place.token,
        .weight = place->place.shape.weight,
        .slot = place->place.slot,
        .ahead = place->granted ? 0 : place->ahead,
        .asked = place->granted ? place->asked : NULL,
    };
}

struct hf_world_place *hf_queue_find(const struct hf_queue *queue, uint64_t token)
{
    struct hf_world_place *place = queue != NULL ? queue->first : NULL;

    while (place != NULL && place->place.token != token)
        place = place->next;
    return place;
}
