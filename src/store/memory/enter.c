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
    uint64_t token = ++world->token;
    place->ticket = (struct hf_ticket){
        .seq = token, .token = token, .shape = req->shape, .since = world->wall
    };
    place->beside = session->places;
    session->places = place;
    hf_queue_join(queue, place);
    hf_world_changed(world, queue, session);
    return place;
}

/* Why there is no place for it in the line; else 0. */
static int refuse(const struct hf_queue *queue, const struct hf_req *req)
{
    enum hf_verdict verdict = hf_sum_judge(&queue->all, &req->shape);

    if (verdict == HF_PASSES)
        return 0;
    if (verdict != HF_BLOCKED)
        return hf_verdict_status(verdict);
    if (req->only_free)
        return HF_EBUSY;
    return req->limit != 0 && queue->waiting >= req->limit ? HF_EFULL : 0;
}

int hf_world_enter(struct hf_world *world, struct hf_session *session,
                   const struct hf_req *req, struct hf_answer *answer)
{
    struct hf_place *place = hf_session_place(session, req->id);
    struct hf_queue *queue = hf_world_line(world, req->name, true);
    int              r = 0;

    assert(req->id != 0);
    if (queue == NULL)
        return HF_ENOMEM;
    /* A repeat gets the place it has; one that was taken away stays away. */
    bool repeat = place != NULL;
    if (!repeat && (r = refuse(queue, req)) == 0) {
        place = join_line(world, session, queue, req);
        r = place == NULL ? HF_ENOMEM : 0;
    }
    answer->stamp = world->stamp;
    if (r == 0)
        r = hf_answer_standing(answer, place);
    else if (r == HF_EBUSY)
        answer->standing.token = queue->first->ticket.token;
    hf_world_tidy(world, queue);
    return r;
}
