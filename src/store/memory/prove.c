/* prove.c - PROVE: is a place held?  The own one by its id, anybody's by its token. */
#include "store/memory/world.h"

#include "holdfast.h"

static bool holds_by_token(struct hf_world *world, const struct hf_req *req)
{
    struct hf_queue *queue = hf_world_line(world, req->name, false);
    struct hf_place *place = queue != NULL ? queue->first : NULL;

    while (place != NULL && place->ticket.token != req->token)
        place = place->next;
    return place != NULL && place->granted;
}

int hf_world_prove(struct hf_world *world, const struct hf_session *session,
                   const struct hf_req *req)
{
    const struct hf_place *place = hf_session_place(session, req->id);
    bool                   held = place != NULL && place->queue != NULL && place->granted;

    if (req->id == 0)
        held = holds_by_token(world, req);
    return held ? 0 : HF_ELOST;
}
