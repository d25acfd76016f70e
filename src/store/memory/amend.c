/* amend.c - AMEND: a place weighs less from now on, and keeps its seq and token. */
#include "store/memory/world.h"

/* Only ever less: a late repeat of an earlier AMEND changes nothing. */
int hf_world_amend(struct hf_world *world, const struct hf_session *session,
                   const struct hf_req *req, struct hf_answer *answer)
{
    struct hf_place *place = hf_session_place(session, req->id);
    struct hf_queue *queue = place != NULL ? place->queue : NULL;

    if (queue != NULL && req->shape.weight < place->ticket.shape.weight) {
        place->ticket.shape.weight = req->shape.weight;
        hf_world_changed(world, queue, session);
    }
    return hf_answer_standing(answer, place);
}
