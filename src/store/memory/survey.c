/* survey.c - SURVEY, as the world carries it out: kept until anything changes.
 *
 * Which lines changed is not said: here it costs next to nothing to look at all.
 */
#include "store/memory/world.h"

#include "holdfast.h"

#include <assert.h>
#include <stdlib.h>

/* True if it has come true already. */
bool hf_world_survey(struct hf_world *world, struct hf_session *session, uint64_t serial,
                     struct hf_answer *answer)
{
    struct hf_watch *watch = NULL;

    assert(serial != 0);
    if (session->surveyed == world->stamp && (watch = calloc(1, sizeof *watch)) != NULL) {
        watch->session = session;
        watch->serial = serial;
        watch->next = world->surveys;
        world->surveys = watch;
        return false;
    }
    if (session->surveyed == world->stamp)
        answer->status = HF_ENOMEM;
    session->surveyed = world->stamp;
    return true;
}

void hf_world_unsurvey(struct hf_world *world, struct hf_session *session,
                       uint64_t serial)
{
    struct hf_watch **at = &world->surveys;

    while (*at != NULL) {
        struct hf_watch *found = *at;
        if (found->session != session || (serial != 0 && found->serial != serial)) {
            at = &found->next;
            continue;
        }
        *at = found->next;
        free(found);
        session->surveyed = 0; /* the next is the first of another survey */
    }
}
