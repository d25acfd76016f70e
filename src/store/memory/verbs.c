/* verbs.c - the verbs, except LIST and DIAGNOSE (look.c). */
#include "store/memory/world.h"

#include "holdfast.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- The own place ------------------------------------------------------------ */

int hf_answer_standing(struct hf_session *session, struct hf_req *req)
{
    struct hf_standing standing =
        hf_world_place_standing(hf_session_place(session, req->id));

    if (standing.asked != NULL) {
        size_t size = strlen(standing.asked) + 1;
        char  *text = hf_session_text(session, size);
        if (text == NULL)
            return HF_ENOMEM;
        standing.asked = memcpy(text, standing.asked, size);
    }
    req->standing = standing;
    return 0;
}

/* S5 fence: every token is the next number of one counter, which never goes back.  A
 * store that outlives the process keeps the counter beside its lines. */
static int take_place(struct hf_world *world, struct hf_session *session,
                      struct hf_queue *queue, const struct hf_req *req)
{
    struct hf_world_place *place = calloc(1, sizeof *place);
    if (place == NULL)
        return HF_ENOMEM;
    place->note = strdup(req->note != NULL ? req->note : "");
    if (place->note == NULL) {
        free(place);
        return HF_ENOMEM;
    }
    place->id = req->id;
    place->session = session;
    place->place = (struct hf_place){ .shape = req->shape, .since = world->wall };
    place->place.seq = place->place.token = ++world->token;
    place->beside = session->places;
    session->places = place;
    hf_queue_join(queue, place);
    hf_world_changed(world, queue);
    return 0;
}

/* Why the line has no place for it; 0: it has. */
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

/* S2 once: an id that has a place, or had one that was taken away, gets no second one. */
static int enter(struct hf_world *world, struct hf_session *session, struct hf_req *req)
{
    struct hf_queue *queue = hf_world_line(world, req->name, true);
    int              r = 0;

    assert(req->id != 0);
    if (queue == NULL)
        return HF_ENOMEM;
    bool repeat = hf_session_place(session, req->id) != NULL;
    if (!repeat)
        r = refuse(queue, req);
    if (!repeat && r == 0)
        r = take_place(world, session, queue, req);
    if (r == 0)
        r = hf_answer_standing(session, req);
    req->stamp = world->stamp;
    if (r == HF_EBUSY) {
        req->standing = hf_world_place_standing(NULL);
        req->standing.token = queue->first->place.token;
    }
    hf_world_tidy(world, queue);
    return r;
}

/* S2 once: a weight only ever gets smaller, so a repeat changes nothing. */
static int downgrade(struct hf_world *world, struct hf_session *session,
                     struct hf_req *req)
{
    struct hf_world_place *place = hf_session_place(session, req->id);
    struct hf_queue       *queue = place != NULL ? place->queue : NULL;

    if (queue != NULL && req->shape.weight < place->place.shape.weight) {
        place->place.shape.weight = req->shape.weight;
        hf_world_changed(world, queue);
    }
    return hf_answer_standing(session, req);
}

/* S2 once: no place means that it left before, and the answer was lost.  S8 truth: a
 * place that was taken away stays, so that a repeat gets the same answer. */
static int leave(struct hf_world *world, struct hf_session *session, struct hf_req *req)
{
    struct hf_world_place **at = &session->places;
    struct hf_world_place  *place = hf_session_place(session, req->id);

    if (place == NULL)
        return 0;
    if (place->queue == NULL)
        return HF_ELOST;
    hf_world_depart(world, place);
    while (*at != place)
        at = &(*at)->beside;
    *at = place->beside;
    hf_world_place_free(place);
    return 0;
}

/* ---- Anybody's place ---------------------------------------------------------- */

static struct hf_world_place *named_place(struct hf_world     *world,
                                          const struct hf_req *req)
{
    return hf_queue_find(hf_world_line(world, req->name, false), req->token);
}

/* BREAK.  S8 truth: the owner keeps the empty place, and learns of it when it leaves. */
static int break_place(struct hf_world *world, struct hf_session *session,
                       struct hf_req *req)
{
    struct hf_world_place *place = named_place(world, req);

    (void)session;
    if (place == NULL)
        return HF_ENOTFOUND;
    hf_world_depart(world, place);
    return 0;
}

/* ASK.  The last reason stays until the place goes: it is part of a holder's standing. */
static int ask(struct hf_world *world, struct hf_session *session, struct hf_req *req)
{
    struct hf_world_place *place = named_place(world, req);

    (void)session;
    if (place == NULL)
        return HF_ENOTFOUND;
    char *reason = strdup(req->note != NULL ? req->note : "");
    if (reason == NULL)
        return HF_ENOMEM;
    free(place->asked);
    place->asked = reason;
    hf_world_tell(world, place->queue);
    return 0;
}

static int verify(struct hf_world *world, struct hf_session *session, struct hf_req *req)
{
    const struct hf_world_place *place =
        req->id != 0 ? hf_session_place(session, req->id) : named_place(world, req);

    return place != NULL && place->granted ? 0 : HF_ELOST;
}

/* ---- Those that may be kept --------------------------------------------------- */

/* S3 wake: a WATCH is compared with what its caller knows, when it comes and after
 * every change of its line.  So a change from before it came counts. */
bool hf_watch_due(const struct hf_queue *queue, const struct hf_world_place *place,
                  const struct hf_req *req)
{
    struct hf_standing now = hf_world_place_standing(place);

    if (req->id != 0)
        return hf_standing_differs(&now, req);
    if (req->token != 0)
        return hf_queue_find(queue, req->token) == NULL;
    return queue->changed > req->stamp;
}

static bool watch(struct hf_world *world, struct hf_session *session, struct hf_req *req)
{
    struct hf_queue       *queue = hf_world_line(world, req->name, true);
    struct hf_world_place *place = hf_session_place(session, req->id);

    if (queue == NULL) {
        req->status = HF_ENOMEM;
        return true;
    }
    req->work = session;
    if (req->stamp == 0) /* the caller does not care about earlier changes */
        req->stamp = world->stamp;
    if (!hf_watch_due(queue, place, req)) {
        hf_requests_append(place != NULL ? &place->watches : &queue->watches, req);
        return false;
    }
    req->status = hf_answer_standing(session, req);
    hf_world_tidy(world, queue);
    return true;
}

/* The answer names no lines: here it costs next to nothing to list them all. */
static bool watch_store(struct hf_world *world, struct hf_session *session,
                        struct hf_req *req)
{
    req->work = session;
    req->status = 0;
    if (session->store_seen == world->stamp) {
        hf_requests_append(&world->store_watches, req);
        return false;
    }
    session->store_seen = world->stamp;
    return true;
}

bool hf_world_ask(struct hf_world *world, struct hf_session *session, struct hf_req *req)
{
    static int (*const verbs[])(struct hf_world *, struct hf_session *,
                                struct hf_req *) = {
        [HF_ENTER] = enter,
        [HF_LEAVE] = leave,
        [HF_DOWNGRADE] = downgrade,
        [HF_BREAK] = break_place,
        [HF_ASK] = ask,
        [HF_VERIFY] = verify,
        [HF_LIST] = hf_world_list,
        [HF_DIAGNOSE] = hf_world_diagnose,
    };

    assert(session->number != 0);
    if (req->op == HF_WATCH)
        return watch(world, session, req);
    if (req->op == HF_WATCH_STORE)
        return watch_store(world, session, req);
    assert(req->op < sizeof verbs / sizeof *verbs && verbs[req->op] != NULL);
    req->status = verbs[req->op](world, session, req);
    return true;
}
