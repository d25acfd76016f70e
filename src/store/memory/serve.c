/* serve.c - the verbs, as the world carries them out. */
#include "store/memory/world.h"

#include "holdfast.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct hf_place *hf_session_place(const struct hf_session *session, uint64_t id)
{
    struct hf_place *place = id != 0 ? session->places : NULL;

    while (place != NULL && place->id != id)
        place = place->beside;
    return place;
}

static void discard(struct hf_session *session, struct hf_place *place)
{
    struct hf_place **at = &session->places;

    while (*at != place)
        at = &(*at)->beside;
    *at = place->beside;
    hf_place_free(place);
}

/* ---- ENTER, READ ------------------------------------------------------------ */

static struct hf_place *take_place(struct hf_world *world, struct hf_session *session,
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
    place->ticket = (struct hf_ticket){ .seq = ++world->seq,
                                        .token = ++world->token,
                                        .shape = req->shape };
    place->beside = session->places;
    session->places = place;
    hf_queue_join(queue, place, world->wall);
    hf_world_changed(world, queue, 0, session);
    return place;
}

/* Whoever is granted at once queues behind nobody. */
static bool is_full(const struct hf_queue *queue, const struct hf_req *req)
{
    return req->limit != 0 && queue->waiting >= req->limit &&
           !hf_queue_free_for(queue, &req->shape);
}

static int enter(struct hf_world *world, struct hf_session *session,
                 const struct hf_req *req, struct hf_answer *answer)
{
    struct hf_place *place = hf_session_place(session, req->id);
    struct hf_queue *queue = hf_world_line(world, req->name, true);
    int              r = HF_ENOMEM;

    assert(req->id != 0);
    if (queue == NULL)
        return HF_ENOMEM;
    /* A repeat gets the place it has; one that was taken away stays away. */
    bool repeat = place != NULL;
    bool refused = req->only_free && !hf_queue_free_for(queue, &req->shape);
    if (!repeat && !refused) {
        r = HF_EFULL;
        if (is_full(queue, req))
            goto out;
        r = HF_ENOMEM;
        place = take_place(world, session, queue, req);
        if (place == NULL)
            goto out;
    }
    bool present = place != NULL && place->queue == queue;
    r = hf_answer_line(answer, queue, present ? place : NULL, &req->shape);
    answer->stamp = world->stamp;
out:
    hf_world_tidy(world, queue);
    return r;
}

static int look(struct hf_world *world, struct hf_session *session,
                const struct hf_req *req, struct hf_answer *answer)
{
    struct hf_queue *queue = hf_world_line(world, req->name, false);
    struct hf_place *place = hf_session_place(session, req->id);
    bool             present = place != NULL && queue != NULL && place->queue == queue;

    answer->stamp = world->stamp;
    /* Without a place, and so without a shape to go by, the whole line. */
    return hf_answer_line(answer, queue, present ? place : NULL, NULL);
}

/* ---- AMEND, ASK ------------------------------------------------------------- */

/* Only ever less: a late repeat of an earlier AMEND changes nothing. */
static int amend(struct hf_world *world, struct hf_session *session,
                 const struct hf_req *req, struct hf_answer *answer)
{
    struct hf_place *place = hf_session_place(session, req->id);
    struct hf_queue *queue = place != NULL ? place->queue : NULL;

    if (queue != NULL && req->shape.weight < place->ticket.shape.weight) {
        hf_queue_lessen(queue, place, req->shape.weight, world->wall);
        hf_world_changed(world, queue, place->ticket.seq, session);
        place->amended_at = world->stamp;
    }
    return look(world, session, req, answer);
}

/* The place that ASK and BREAK are about. */
static struct hf_place *find_named(const struct hf_queue *queue, const struct hf_req *req)
{
    struct hf_place *place = queue != NULL ? hf_queue_find(queue, req->seq) : NULL;
    bool named = place != NULL && (req->token == 0 || req->token == place->ticket.token);

    return named ? place : NULL;
}

static int ask(struct hf_world *world, const struct hf_session *session,
               const struct hf_req *req)
{
    struct hf_queue *queue = hf_world_line(world, req->name, false);
    struct hf_place *place = find_named(queue, req);
    if (place == NULL)
        return HF_ENOTFOUND;

    char *reason = strdup(req->note != NULL ? req->note : "");
    if (reason == NULL)
        return HF_ENOMEM;
    free(place->asked);
    place->asked = reason;
    place->asked_at = ++world->stamp;
    hf_world_asked(world, place, session);
    return 0;
}

/* ---- PROVE ------------------------------------------------------------------ */

/* Waiting is not holding: a token proves a grant. */
static bool holds_by_token(struct hf_world *world, const struct hf_req *req)
{
    struct hf_queue *queue = hf_world_line(world, req->name, false);
    struct hf_place *place = queue != NULL ? queue->first : NULL;

    while (place != NULL && place->ticket.token != req->token)
        place = place->next;
    return place != NULL && place->granted;
}

static int prove(struct hf_world *world, const struct hf_session *session,
                 const struct hf_req *req)
{
    const struct hf_place *place = hf_session_place(session, req->id);
    bool                   there = place != NULL && place->queue != NULL;

    if (req->id == 0)
        there = holds_by_token(world, req);
    return there ? 0 : HF_ELOST;
}

/* ---- LEAVE, BREAK ----------------------------------------------------------- */

static void depart(struct hf_world *world, struct hf_place *place,
                   const struct hf_session *by)
{
    struct hf_queue *queue = place->queue;

    hf_queue_part(queue, place, world->wall);
    hf_world_changed(world, queue, place->ticket.seq, by);
    hf_world_tidy(world, queue);
}

static int leave(struct hf_world *world, struct hf_session *session,
                 const struct hf_req *req)
{
    struct hf_place *place = hf_session_place(session, req->id);

    if (place == NULL) /* left already, and the answer was lost */
        return 0;
    if (place->queue == NULL) /* kept, so that a repeat is told the same */
        return HF_ELOST;
    depart(world, place, session);
    discard(session, place);
    return 0;
}

static int take_away(struct hf_world *world, const struct hf_session *session,
                     const struct hf_req *req)
{
    struct hf_queue *queue = hf_world_line(world, req->name, false);
    struct hf_place *place = find_named(queue, req);

    if (place == NULL)
        return HF_ENOTFOUND;
    /* Its owner keeps the empty place: LEAVE must be told the truth (S8). */
    depart(world, place, session);
    return 0;
}

bool hf_world_verb(struct hf_world *world, struct hf_session *session, uint64_t serial,
                   const struct hf_req *req, struct hf_answer *answer)
{
    switch (req->op) {
    case HF_ENTER:
        answer->status = enter(world, session, req, answer);
        return true;
    case HF_READ:
        answer->status = look(world, session, req, answer);
        return true;
    case HF_WATCH:
        return hf_world_watch(world, session, serial, req, answer);
    case HF_LEAVE:
        answer->status = leave(world, session, req);
        return true;
    case HF_LIST:
        answer->stamp = world->stamp;
        answer->status = hf_answer_list(answer, world, req->name);
        return true;
    case HF_BREAK:
        answer->status = take_away(world, session, req);
        return true;
    case HF_AMEND:
        answer->status = amend(world, session, req, answer);
        return true;
    case HF_PROVE:
        answer->status = prove(world, session, req);
        return true;
    case HF_EXAMINE:
        answer->status = hf_answer_findings(answer, world, session, req->name);
        return true;
    default:
        assert(req->op == HF_ASK);
        answer->status = ask(world, session, req);
        return true;
    }
}
