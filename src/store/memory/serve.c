/* serve.c - a request comes to a world and is handed to its verb; room for the answer.
 *
 * The verbs are in the files of their names: enter.c, watch.c, leave.c, list.c, break.c,
 * amend.c, ask.c, prove.c, examine.c, survey.c.
 */
#include "store/memory/world.h"

#include "base/grow.h"
#include "holdfast.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void hf_answer_finish(struct hf_answer *answer)
{
    free(answer->ticket);
    free(answer->text);
    hf_finding_list_clear(&answer->findings);
    *answer = (struct hf_answer){ 0 };
}

bool hf_answer_reserve(struct hf_answer *answer, size_t tickets, size_t bytes)
{
    struct hf_ticket *ticket =
        hf_grow(answer->ticket, &answer->room, tickets + 1, sizeof *ticket);
    if (ticket == NULL)
        return false;
    answer->ticket = ticket;
    char *text = hf_grow(answer->text, &answer->text_room, bytes + 1, 1);
    if (text == NULL)
        return false;
    answer->text = text;
    return true;
}

/* Nothing asked yet: what an answer says unless it is told otherwise. */
void hf_answer_begin(struct hf_answer *answer, uint64_t serial)
{
    answer->serial = serial;
    answer->gone = false;
    answer->session = 0;
    answer->status = 0;
    answer->standing = hf_place_standing(NULL);
    answer->count = 0;
}

int hf_answer_standing(struct hf_answer *answer, const struct hf_place *place)
{
    struct hf_standing standing = hf_place_standing(place);

    if (standing.asked != NULL) {
        size_t size = strlen(standing.asked) + 1;
        if (!hf_answer_reserve(answer, 0, size))
            return HF_ENOMEM;
        standing.asked = memcpy(answer->text, standing.asked, size);
    }
    answer->standing = standing;
    return 0;
}

struct hf_place *hf_session_place(const struct hf_session *session, uint64_t id)
{
    struct hf_place *place = id != 0 ? session->places : NULL;

    while (place != NULL && place->id != id)
        place = place->beside;
    return place;
}

bool hf_world_verb(struct hf_world *world, struct hf_session *session, uint64_t serial,
                   const struct hf_req *req, struct hf_answer *answer)
{
    switch (req->op) {
    case HF_ENTER:
        answer->status = hf_world_enter(world, session, req, answer);
        return true;
    case HF_WATCH:
        return hf_world_watch(world, session, serial, req, answer);
    case HF_SURVEY:
        return hf_world_survey(world, session, serial, req, answer);
    case HF_LEAVE:
        answer->status = hf_world_leave(world, session, req);
        return true;
    case HF_LIST:
        answer->status = hf_world_list(world, req->name, answer);
        return true;
    case HF_BREAK:
        answer->status = hf_world_break(world, session, req);
        return true;
    case HF_AMEND:
        answer->status = hf_world_amend(world, session, req, answer);
        return true;
    case HF_PROVE:
        answer->status = hf_world_prove(world, session, req);
        return true;
    case HF_EXAMINE:
        answer->status = hf_world_examine(world, session, req->name, answer);
        return true;
    default:
        assert(req->op == HF_ASK);
        answer->status = hf_world_ask(world, session, req);
        return true;
    }
}
