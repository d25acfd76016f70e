/* break.c - BREAK: taking a place away from whoever has it. */
#include "store/memory/world.h"

#include "holdfast.h"

int hf_world_break(struct hf_world *world, const struct hf_session *session,
                   const struct hf_req *req)
{
    struct hf_queue *queue = hf_world_line(world, req->name, false);
    struct hf_place *place = hf_queue_find(queue, req->token);

    if (place == NULL)
        return HF_ENOTFOUND;
    /* Its owner keeps the empty place: LEAVE must be told the truth (S8). */
    hf_world_depart(world, place, session);
    return 0;
}
