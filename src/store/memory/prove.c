/* prove.c - PROVE: is a place still there?  The own one by its id, anybody's by its token. */
#include "store/memory/world.h"

#include "holdfast.h"

/* Waiting is not holding: a token proves a grant. */
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
    bool                   there = place != NULL && place->queue != NULL;

    if (req->id == 0)
        there = holds_by_token(world, req);
    return there ? 0 : HF_ELOST;
}
