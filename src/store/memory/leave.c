/* leave.c - LEAVE: giving a place up. */
#include "store/memory/world.h"

#include "holdfast.h"

#include <assert.h>

static void forget_place(struct hf_session *session, struct hf_place *place)
{
    struct hf_place **at = &session->places;

    assert(place->queue == NULL && place->session == session);
    while (*at != place)
        at = &(*at)->beside;
    *at = place->beside;
    hf_place_free(place);
}

void hf_world_depart(struct hf_world *world, struct hf_place *place,
                     const struct hf_session *by)
{
    struct hf_queue *queue = place->queue;

    assert(queue != NULL);
    hf_queue_part(queue, place);
    hf_world_changed(world, queue, by);
    hf_world_tidy(world, queue);
}

int hf_world_leave(struct hf_world *world, struct hf_session *session,
                   const struct hf_req *req)
{
    struct hf_place *place = hf_session_place(session, req->id);

    if (place == NULL) /* left already, and the answer was lost */
        return 0;
    if (place->queue == NULL) /* kept, so that a repeat is told the same */
        return HF_ELOST;
    hf_world_depart(world, place, session);
    forget_place(session, place);
    return 0;
}
