/* enter.c - ENTER: taking a place at the end of a line. */
#include "store/memory/world.h"

#include "holdfast.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static struct hf_place *join_line(struct hf_world *world, struct hf_session *session,
                                  struct hf_queue *queue, const struct hf_req *req)
{
    struct hf_place *place = calloc(1, sizeof *place);
    if (place == NULL)
        return NULL;
    place->note = strdup(req->note != NULL ? req->note : "");
    if (place->note == NULL) {
        free(place);
        return NULL;
    }
    place->id = req->id;
    place->session = session;
    place->ticket = (struct hf_ticket){ .seq = ++world->seq,
                                        .token = ++world->token,
                                        .shape = req->shape };
    place->beside = session->places;
    session->places = place;
    hf_queue_join(queue, place, world->wall);
    hf_world_changed(world, queue, 0, session);
    return place;
}

/* Whoever is granted at once queues behind nobody. */
static bool line_is_full(const struct hf_queue *queue, const struct hf_req *req)
{
    return req->limit != 0 && queue->waiting >= req->limit &&
           !hf_queue_free_for(queue, &req->shape);
}

int hf_world_enter(struct hf_world *world, struct hf_session *session,
                   const struct hf_req *req, struct hf_answer *answer)
{
    struct hf_place *place = hf_session_place(session, req->id);
    struct hf_queue *queue = hf_world_line(world, req->name, true);
    int              r = HF_ENOMEM;

    assert(req->id != 0);
    if (queue == NULL)
        return HF_ENOMEM;
    /* A repeat gets the place it has; one that was taken away stays away. */
    bool repeat = place != NULL;
    bool refused = req->only_free && !hf_queue_free_for(queue, &req->shape);
    if (!repeat && !refused) {
        r = HF_EFULL;
        if (line_is_full(queue, req))
            goto out;
        r = HF_ENOMEM;
        place = join_line(world, session, queue, req);
        if (place == NULL)
            goto out;
    }
    bool present = place != NULL && place->queue == queue;
    r = hf_answer_line(answer, queue, present ? place : NULL, &req->shape);
    answer->stamp = world->stamp;
out:
    hf_world_tidy(world, queue);
    return r;
}
