/* survey.c - SURVEY, as the world carries it out: kept until anything changes.
 *
 * Which lines changed is not said: here it costs next to nothing to look at all.
 */
#include "store/memory/world.h"

#include "holdfast.h"

/* True if it has come true already. */
bool hf_world_survey(struct hf_world *world, struct hf_session *session, uint64_t serial,
                     const struct hf_req *req, struct hf_answer *answer)
{
    if (session->surveyed == world->stamp) {
        struct hf_watch *watch = hf_watch_new(session, serial, req);
        if (watch != NULL) {
            watch->next = world->surveys;
            world->surveys = watch;
            return false;
        }
        answer->status = HF_ENOMEM;
    }
    session->surveyed = world->stamp;
    return true;
}
