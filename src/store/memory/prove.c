/* prove.c - PROVE: is a place held?  The own one by its id, anybody's by its token. */
#include "store/memory/world.h"

#include "holdfast.h"

int hf_world_prove(struct hf_world *world, const struct hf_session *session,
                   const struct hf_req *req)
{
    const struct hf_place *place =
        req->id != 0 ? hf_session_place(session, req->id)
                     : hf_queue_find(hf_world_line(world, req->name, false), req->token);

    return place != NULL && place->granted ? 0 : HF_ELOST;
}
