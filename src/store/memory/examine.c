/* examine.c - EXAMINE: what a person should know of a world. */
#include "store/memory/world.h"

#include "holdfast.h"

static void tell_lease(struct hf_finding_list *list, const struct hf_session *session)
{
    if (session->ttl > 0)
        hf_finding_add(list, HF_FINE, "lease", NULL,
                       "a session lives %lld ms after it was last heard of",
                       (long long)(session->ttl / HF_MS));
    else
        hf_finding_add(list, HF_FINE, "lease", NULL,
                       "none: a session lives as long as its client");
}

static void tell_totals(struct hf_finding_list *list, const struct hf_world *world)
{
    size_t sessions = 0, lines = 0, places = 0;

    for (const struct hf_session *s = world->sessions; s != NULL; s = s->next)
        sessions++;
    for (size_t i = 0; i < HF_WORLD_BUCKETS; i++)
        for (const struct hf_queue *q = world->queue[i]; q != NULL; q = q->next) {
            lines += q->first != NULL;
            for (const struct hf_place *p = q->first; p != NULL; p = p->next)
                places++;
        }
    hf_finding_add(list, HF_FINE, "lines", NULL, "%zu, with %zu places, of %zu sessions",
                   lines, places, sessions);
}

static void tell_queue(struct hf_finding_list *list, struct hf_world *world,
                       const char *name)
{
    const struct hf_queue *queue = hf_world_line(world, name, false);
    size_t                 hold = 0, wait = 0;

    for (const struct hf_place *p = queue != NULL ? queue->first : NULL; p != NULL;
         p = p->next) {
        hold += p->granted;
        wait += !p->granted;
    }
    hf_finding_add(list, HF_FINE, "line", NULL, "%zu hold \"%s\", %zu wait", hold, name,
                   wait);
}

int hf_world_examine(struct hf_world *world, const struct hf_session *session,
                     const char *name, struct hf_answer *answer)
{
    struct hf_finding_list *list = &answer->findings;

    hf_finding_list_clear(list);
    hf_finding_add(list, HF_FINE, "reach", NULL, "this process alone: a store for tests");
    tell_lease(list, session);
    tell_totals(list, world);
    if (name != NULL)
        tell_queue(list, world, name);
    return list->failed ? HF_ENOMEM : 0;
}
