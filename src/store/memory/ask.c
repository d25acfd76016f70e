/* ask.c - ASK: leaving word at a place that somebody would like it to be given up.
 *
 * The last word stays until the place goes: it is part of how a holder's place stands.
 */
#include "store/memory/world.h"

#include "holdfast.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int hf_world_ask(struct hf_world *world, const struct hf_session *session,
                 const struct hf_req *req)
{
    struct hf_queue *queue = hf_world_line(world, req->name, false);
    struct hf_place *place = hf_queue_find(queue, req->token);
    if (place == NULL)
        return HF_ENOTFOUND;

    char *reason = strdup(req->note != NULL ? req->note : "");
    if (reason == NULL)
        return HF_ENOMEM;
    assert(place->queue == queue);
    free(place->asked);
    place->asked = reason;
    hf_world_tell(world, queue, session);
    return 0;
}
