/* queue.c - see queue.h. */
#include "store/memory/queue.h"

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
    assert(queue->first == NULL && queue->watches == NULL);
    assert(queue->held == 0 && queue->waiting == 0);
    free(queue->name);
    free(queue);
}

void hf_place_free(struct hf_place *place)
{
    assert(place->queue == NULL);
    free(place->asked);
    free(place->note);
    free(place);
}

/* Next to be granted is whoever stands behind the granted ones: all those are
 * of one kind, so the first tells whether `shape` is of that kind. */
static bool has_room(const struct hf_queue *queue, const struct hf_shape *shape)
{
    if (queue->held == 0)
        return true;
    assert(queue->first->granted); /* the granted ones are the first few */
    return hf_shape_agrees(&queue->first->ticket.shape, shape) &&
           queue->held + shape->weight <= shape->capacity;
}

bool hf_queue_free_for(const struct hf_queue *queue, const struct hf_shape *shape)
{
    return queue->waiting == 0 && has_room(queue, shape);
}

static bool slot_taken(const struct hf_queue *queue, int slot)
{
    for (struct hf_place *place = queue->first; place != NULL && place->granted;
         place = place->next)
        if (place->ticket.slot == slot)
            return true;
    return false;
}

static void grant_place(struct hf_queue *queue, struct hf_place *place, int64_t wall)
{
    assert(!place->granted && queue->waiting > 0);
    assert(place->prev == NULL || place->prev->granted);
    if (hf_shape_has_slots(&place->ticket.shape)) {
        int slot = 0;
        while (slot_taken(queue, slot))
            slot++;
        place->ticket.slot = slot;
    }
    place->ticket.since = wall;
    place->granted = true;
    queue->held += place->ticket.shape.weight;
    queue->waiting--;
}

/* After something ahead has left or shrunk. */
static void grant_more(struct hf_queue *queue, int64_t wall)
{
    struct hf_place *next = queue->first;

    while (next != NULL && next->granted)
        next = next->next;
    for (; next != NULL && has_room(queue, &next->ticket.shape); next = next->next)
        grant_place(queue, next, wall);
}

void hf_queue_join(struct hf_queue *queue, struct hf_place *place, int64_t wall)
{
    bool at_once = hf_queue_free_for(queue, &place->ticket.shape);

    assert(queue->last == NULL || queue->last->ticket.seq < place->ticket.seq);
    assert(place->queue == NULL && !place->granted);
    place->queue = queue;
    place->prev = queue->last;
    place->ticket.line = queue->name;
    place->ticket.slot = -1;
    place->ticket.since = wall;
    if (queue->last != NULL)
        queue->last->next = place;
    else
        queue->first = place;
    queue->last = place;
    queue->waiting++;
    if (at_once)
        grant_place(queue, place, wall);
}

static void unlink_place(struct hf_queue *queue, struct hf_place *place)
{
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
    assert((queue->first == NULL) == (queue->last == NULL));
}

void hf_queue_part(struct hf_queue *queue, struct hf_place *place, int64_t wall)
{
    assert(place->queue == queue);
    assert(!place->granted || queue->held >= place->ticket.shape.weight);
    assert(place->granted || queue->waiting > 0);
    if (place->granted)
        queue->held -= place->ticket.shape.weight;
    else
        queue->waiting--;
    place->granted = false;
    unlink_place(queue, place);
    for (struct hf_watch *watch = queue->watches; watch != NULL; watch = watch->next)
        if (watch->mine == place)
            watch->mine = NULL;
    grant_more(queue, wall);
}

void hf_queue_lessen(struct hf_queue *queue, struct hf_place *place, uint32_t weight,
                     int64_t wall)
{
    uint32_t *old = &place->ticket.shape.weight;

    assert(place->queue == queue && weight >= 1 && weight <= *old);
    if (place->granted)
        queue->held -= *old - weight;
    *old = weight;
    grant_more(queue, wall);
}

struct hf_place *hf_queue_find(const struct hf_queue *queue, uint64_t seq)
{
    struct hf_place *place = queue->first;

    while (place != NULL && place->ticket.seq < seq)
        place = place->next;
    return place != NULL && place->ticket.seq == seq ? place : NULL;
}

struct hf_place *hf_queue_find_token(const struct hf_queue *queue, uint64_t token)
{
    struct hf_place *place = queue != NULL ? queue->first : NULL;

    while (place != NULL && place->ticket.token != token)
        place = place->next;
    return place;
}

static bool watches_seq(const struct hf_watch *watch, uint64_t seq)
{
    for (size_t i = 0; i < watch->count; i++)
        if (watch->seqs[i] == seq)
            return true;
    return false;
}

/* It waits in line, and has got what it waits for or lost its place. */
static bool has_its_turn(const struct hf_watch *watch)
{
    return watch->waits && (watch->mine == NULL || watch->mine->granted);
}

bool hf_watch_hit(const struct hf_watch *watch, enum hf_habit habit, uint64_t seq)
{
    if (watch->count == 0)
        return true;
    if (habit != HF_WAKE_LEFT && has_its_turn(watch))
        return true;
    return (habit != HF_WAKE_GRANT || !watch->waits) && watches_seq(watch, seq);
}

bool hf_watch_due(const struct hf_watch *watch, enum hf_habit habit, uint64_t since)
{
    if (watch->count == 0 && since != 0 && watch->queue->changed > since)
        return true;
    if (watch->mine != NULL && watch->mine->asked_at > since)
        return true;
    if (habit != HF_WAKE_LEFT && has_its_turn(watch))
        return true;
    if (habit == HF_WAKE_GRANT && watch->waits)
        return false;
    for (size_t i = 0; i < watch->count; i++) {
        const struct hf_place *place = hf_queue_find(watch->queue, watch->seqs[i]);
        if (place == NULL || place->amended_at > since)
            return true;
    }
    return false;
}
