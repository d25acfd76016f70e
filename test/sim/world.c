/* world.c - checks the state of the store, whatever clients believe. */
#include "sim.h"

#include "holdfast.h"

#include <string.h>

struct hf_session *world_session(const struct sim_client *client)
{
    const struct sim_store *sim = (const struct sim_store *)client->store;

    return hf_world_session(&client->net->world, sim->session);
}

static struct hf_world_place *place_of(const struct hf_session *session, uint64_t id)
{
    struct hf_world_place *place = session != NULL ? session->places : NULL;

    while (place != NULL && (place->id != id || place->queue == NULL))
        place = place->beside;
    return place;
}

struct hf_world_place *world_place(const struct sim_client *client, uint64_t id)
{
    return place_of(world_session(client), id);
}

/* How many places are ahead of it: all, or only those that wait. */
static size_t count_ahead(const struct hf_world_place *place, bool waiting)
{
    size_t count = 0;

    for (place = place->prev; place != NULL; place = place->prev)
        count += !waiting || !place->granted;
    return count;
}

/* ---- Queues --------------------------------------------------------------- */

static void check_line(struct sim *sim, const struct hf_queue *queue)
{
    uint64_t weight = 0, seq = 0, token = 0;
    bool     fits = true;

    for (const struct hf_world_place *each = queue->first; each != NULL;
         each = each->next) {
        const struct hf_place *place = &each->place;
        weight += place->shape.weight;
        fits = fits && hf_shape_agrees(&place->shape, &queue->first->place.shape) &&
               weight <= place->shape.capacity;
        if (each->granted != fits)
            sim_fail(sim, "%s: place %d is %sgranted", queue->name, (int)place->seq,
                     fits ? "not " : "");
        if (place->seq <= seq || place->token <= token)
            sim_fail(sim, "%s: place %d is out of order", queue->name, (int)place->seq);
        seq = place->seq;
        token = place->token;
    }
}

/* The owner of a pending WATCH knows the state of its place. */
static void check_sleep(struct sim *sim, const struct hf_req *watch)
{
    const struct hf_standing    *known = &watch->standing;
    const struct hf_world_place *place = place_of(watch->work, watch->id);
    const char                  *missed = NULL;

    if (known->state == HF_STAND_UNKNOWN)
        missed = "it knows nothing";
    else if ((known->state == HF_STAND_NONE) != (place == NULL))
        missed = "its place is gone";
    else if (place != NULL && place->granted && known->state != HF_STAND_HOLDS)
        missed = "it is granted";
    else if (place != NULL && place->granted && place->asked != NULL &&
             (known->asked == NULL || strcmp(known->asked, place->asked) != 0))
        missed = "it is asked";
    else if (place != NULL && !place->granted && watch->follow &&
             known->ahead != count_ahead(place, false))
        missed = "its place, which it follows, has changed";
    if (missed != NULL)
        sim_fail(sim, "%s: the WATCH of #%d is not answered, though %s", watch->name,
                 (int)watch->id, missed);
}

static void check_world(struct sim *sim)
{
    for (size_t i = 0; i < sim->names; i++) {
        struct hf_queue *queue = hf_world_line(&sim->net.world, sim->name[i].text, false);
        if (queue == NULL)
            continue;
        check_line(sim, queue);
        for (const struct hf_world_place *p = queue->first; p != NULL; p = p->next)
            for (const struct hf_req *w = p->watches.first; w != NULL; w = w->next)
                check_sleep(sim, w);
    }
}

/* ---- Places ---------------------------------------------------------- */

static bool is_verb(const struct sim_message *message, enum hf_op op)
{
    return message != NULL && message->kind == SIM_VERB && message->req.op == op;
}

/* A follower whose WATCH is pending knows how many are ahead. */
static void check_follower(struct wish *wish, const struct hf_world_place *place)
{
    if (place->watches.first == NULL ||
        wish->job.known.ahead == count_ahead(place, false))
        return;
    sim_fail(wish->sim, "%s follows its place in %s, and has a wrong number ahead",
             wish->label, wish->name->text);
}

/* The wish whose place was just broken: its session still has the place. */
static bool was_broken(const struct wish *wish, const struct hf_session *session,
                       uint64_t token)
{
    const struct hf_world_place *place = session != NULL ? session->places : NULL;

    for (; place != NULL; place = place->beside)
        if (place->queue == NULL && place->place.token == token)
            return place->id == wish->job.hold.id;
    return false;
}

/* The place of a holder stays the same, and weighs no more than the holder believes. */
static void check_place(const struct wish *wish, const struct hf_world_place *place)
{
    const struct hf_hold *hold = &wish->job.hold;

    if (place->place.token != hold->token || !place->granted)
        sim_fail(wish->sim, "%s holds %s by a place that it does not know", wish->label,
                 wish->name->text);
    if (!hold->downgrade && place->place.shape.weight > hf_hold_shape(hold)->weight)
        sim_fail(wish->sim, "%s has downgraded %s, but its place has not", wish->label,
                 wish->name->text);
}

static void follow(struct wish *wish, const struct hf_session *session,
                   const struct sim_message *message)
{
    struct hf_world_place *place = place_of(session, wish->job.hold.id);

    if (place != NULL && wish->state == HF_HOLD_HELD)
        check_place(wish, place);
    if (place != NULL && wish->job.follow && wish->state == HF_HOLD_WAITING)
        check_follower(wish, place);
    if (is_verb(message, HF_BREAK) && was_broken(wish, session, message->req.token))
        wish->broken = wish->job.hold.id;
    if (place == NULL || !place->granted)
        wish->served_at = HF_NEVER;
    else if (wish->served_at == HF_NEVER)
        wish->served_at = wish->sim->net.now;
    if (!wish->had || !wish->present || place_of(session, wish->id) != NULL)
        return;
    wish->present = false;
    if (is_verb(message, HF_LEAVE) && message->wire == wish->client->wire &&
        message->req.id == wish->id)
        wish->left = true;
    else
        wish->taken = true;
}

static void tell_served(struct sim *sim, const struct sim_message *message, bool answered)
{
    static const char *const kinds[] = { "HELLO", "RENEW", "", "FORGET", "BYE" };
    static const char *const verbs[] = {
        [HF_ENTER] = "ENTER", [HF_WATCH] = "WATCH",         [HF_LEAVE] = "LEAVE",
        [HF_BREAK] = "BREAK", [HF_DOWNGRADE] = "DOWNGRADE", [HF_ASK] = "ASK",
    };

    if (message == NULL)
        sim_say(sim, "        a session ends");
    else if (message->kind != SIM_VERB)
        sim_say(sim, "        store: %s of session %d, connection %d%s",
                kinds[message->kind], (int)message->session, (int)message->connection,
                !answered       ? ""
                : message->gone ? ": gone"
                                : ": ok");
    else
        sim_say(sim, "        store: %s %s #%d of session %d: %s", verbs[message->req.op],
                message->req.name, (int)message->req.id, (int)message->session,
                !answered       ? "nothing yet"
                : message->gone ? "gone"
                                : hf_errname(message->req.status));
}

/* ---- Answers ------------------------------------------------------------------- */

/* Would one more place have to wait, or is the queue of another kind?  On purpose by a
 * copy of the rule. */
static void judge_newcomer(const struct hf_queue *queue, const struct hf_shape *shape,
                           bool *waits, bool *differs)
{
    uint64_t weight = shape->weight;

    *differs = false;
    for (const struct hf_world_place *p = queue != NULL ? queue->first : NULL; p != NULL;
         p = p->next) {
        weight += p->place.shape.weight;
        *differs |= !hf_shape_agrees(&p->place.shape, shape);
    }
    *waits = !*differs && weight > shape->capacity;
}

/* A refused ENTER has a reason, and leaves no place. */
static void check_refusal(struct sim *sim, const struct hf_req *req,
                          const struct hf_world_place *place, int status)
{
    const struct hf_queue *queue = hf_world_line(&sim->net.world, req->name, false);
    bool                   waits, differs;

    judge_newcomer(queue, &req->shape, &waits, &differs);
    bool good =
        (status == HF_EBUSY && req->only_free && waits) ||
        (status == HF_EMISMATCH && differs) ||
        (status == HF_EFULL && waits && req->limit != 0 && queue->waiting >= req->limit);
    if (!good)
        sim_fail(sim, "%s: #%d is refused: %s", req->name, (int)req->id,
                 hf_errname(status));
    if (place != NULL)
        sim_fail(sim, "%s: #%d is refused, and has place %d", req->name, (int)req->id,
                 (int)place->place.seq);
}

/* Is the answer of ENTER, DOWNGRADE or WATCH true? */
static void check_standing(struct sim *sim, const struct hf_req *req,
                           const struct hf_world_place *place,
                           const struct hf_standing    *told)
{
    enum hf_stand state = place == NULL    ? HF_STAND_NONE
                          : place->granted ? HF_STAND_HOLDS
                                           : HF_STAND_WAITS;
    bool          holds = state == HF_STAND_HOLDS;

    if (told->state != state)
        sim_fail(sim, "%s: #%d is answered a wrong state", req->name, (int)req->id);
    if (place == NULL)
        return;
    if (told->token != place->place.token || told->slot != place->place.slot ||
        told->weight != place->place.shape.weight)
        sim_fail(sim, "%s: #%d is answered another place", req->name, (int)req->id);
    if (told->ahead != (holds ? 0 : count_ahead(place, false)))
        sim_fail(sim, "%s: #%d is answered a wrong number ahead", req->name,
                 (int)req->id);
    if (req->op == HF_ENTER && req->only_free && !holds)
        sim_fail(sim, "%s: #%d waits, although it only tries", req->name, (int)req->id);
    if (req->op == HF_ENTER && req->limit != 0 && !holds &&
        count_ahead(place, true) >= req->limit)
        sim_fail(sim, "%s: place %d waits though the queue is full", req->name,
                 (int)place->place.seq);
}

/* From now on its owner must hear of it. */
static void note_asked(struct sim *sim, const struct hf_req *req)
{
    const struct hf_queue       *queue = hf_world_line(&sim->net.world, req->name, false);
    const struct hf_world_place *place = hf_queue_find(queue, req->token);

    for (size_t i = 0; i < sim->clients; i++)
        for (size_t j = 0; sim->client[i].store != NULL && j < sim->wishes; j++)
            if (world_place(&sim->client[i], sim->wish[i][j].job.hold.id) == place)
                sim->wish[i][j].asked_at = sim->net.now;
}

static void check_answer(struct sim *sim, const struct sim_message *message)
{
    const struct hf_req         *req = &message->req;
    const struct hf_world_place *place =
        place_of(hf_world_session(&sim->net.world, message->session), req->id);

    if (req->op == HF_ENTER && req->status != 0)
        check_refusal(sim, req, place, req->status);
    else if (req->op == HF_ENTER || req->op == HF_DOWNGRADE ||
             (req->op == HF_WATCH && req->id != 0))
        check_standing(sim, req, place, &req->standing);
    else if (req->op == HF_ASK && req->status == 0)
        note_asked(sim, req);
}

/* A RENEW or FORGET changes no queue. */
static bool concerns_lines(const struct sim_message *message)
{
    return message == NULL || message->kind == SIM_VERB || message->kind == SIM_BYE;
}

void world_served(struct sim_network *net, const struct sim_message *message,
                  bool answered)
{
    struct sim *sim = net->data;

    if (sim->verbose)
        tell_served(sim, message, answered);
    if (!concerns_lines(message))
        return;
    sim->touched = ~0u;
    check_world(sim);
    if (answered && message->kind == SIM_VERB && !message->gone)
        check_answer(sim, message);
    for (size_t i = 0; i < sim->clients; i++) {
        if (sim->client[i].store == NULL)
            continue;
        const struct hf_session *session = world_session(&sim->client[i]);
        for (size_t j = 0; j < sim->wishes; j++)
            follow(&sim->wish[i][j], session, message);
    }
}
