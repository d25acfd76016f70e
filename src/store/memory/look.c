/* look.c - LIST and DIAGNOSE: for people. */
#include "store/memory/world.h"

#include "base/grow.h"
#include "holdfast.h"

#include <stdlib.h>
#include <string.h>

/* ---- LIST: every place in one line, or in all, with copies of its texts ------- */

/* Adds its places, with the queue's own strings. */
static int add_queue(struct hf_session *session, const struct hf_queue *queue,
                     size_t *count)
{
    for (const struct hf_world_place *p = queue->first; p != NULL; p = p->next) {
        struct hf_place *place =
            hf_grow(session->place, &session->room, *count + 1, sizeof *place);
        if (place == NULL)
            return HF_ENOMEM;
        session->place = place;
        place[(*count)++] = p->place;
    }
    return 0;
}

static const char *copy_text(char **to, const char *text)
{
    char *copy = *to;

    *to = stpcpy(copy, text) + 1;
    return copy;
}

static int copy_texts(struct hf_session *session, size_t count)
{
    struct hf_place *place = session->place;
    size_t           bytes = 0;

    for (size_t i = 0; i < count; i++)
        bytes += strlen(place[i].line) + strlen(place[i].note) + 2;
    char *to = hf_session_text(session, bytes);
    if (to == NULL)
        return HF_ENOMEM;
    for (size_t i = 0; i < count; i++) {
        place[i].line = copy_text(&to, place[i].line);
        place[i].note = copy_text(&to, place[i].note);
    }
    return 0;
}

static int by_name_and_seq(const void *a, const void *b)
{
    const struct hf_place *x = a, *y = b;
    int                    r = strcmp(x->line, y->line);

    return r != 0 ? r : (x->seq > y->seq) - (x->seq < y->seq);
}

int hf_world_list(struct hf_world *world, struct hf_session *session, struct hf_req *req)
{
    size_t count = 0;
    int    r = 0;

    for (size_t i = 0; i < HF_WORLD_BUCKETS; i++)
        for (const struct hf_queue *q = world->queue[i]; q != NULL && r == 0; q = q->next)
            if (req->name == NULL || strcmp(q->name, req->name) == 0)
                r = add_queue(session, q, &count);
    if (r == 0)
        r = copy_texts(session, count);
    if (r < 0)
        return r;
    if (count > 0)
        qsort(session->place, count, sizeof *session->place, by_name_and_seq);
    req->line = (struct hf_line){ session->place, count };
    req->stamp = world->stamp;
    return 0;
}

/* ---- DIAGNOSE ----------------------------------------------------------------- */

static void tell_lease(struct hf_finding_list *list, const struct hf_session *session)
{
    if (session->ttl > 0)
        hf_finding_add(list, HF_FINE, "lease", NULL,
                       "a session lives %lld ms after it was last renewed",
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
            for (const struct hf_world_place *p = q->first; p != NULL; p = p->next)
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

    for (const struct hf_world_place *p = queue != NULL ? queue->first : NULL; p != NULL;
         p = p->next) {
        hold += p->granted;
        wait += !p->granted;
    }
    hf_finding_add(list, HF_FINE, "line", NULL, "%zu hold \"%s\", %zu wait", hold, name,
                   wait);
}

int hf_world_diagnose(struct hf_world *world, struct hf_session *session,
                      struct hf_req *req)
{
    struct hf_finding_list *list = &session->findings;

    hf_finding_list_clear(list);
    hf_finding_add(list, HF_FINE, "reach", NULL, "this process alone: a store for tests");
    tell_lease(list, session);
    tell_totals(list, world);
    if (req->name != NULL)
        tell_queue(list, world, req->name);
    req->finding = list->finding;
    req->findings = list->count;
    return list->failed ? HF_ENOMEM : 0;
}
