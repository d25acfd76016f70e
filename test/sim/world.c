/* world.c - what must never be in the world, whatever is believed elsewhere. */
#include "sim.h"

#include "holdfast.h"

#include <string.h>

struct hf_session *world_session(const struct host *host)
{
    const struct far *far = (const struct far *)host->store;

    return hf_world_session(&host->net->world, far->session);
}

static struct hf_place *place_of(const struct hf_session *session, uint64_t id)
{
    struct hf_place *place = session != NULL ? session->places : NULL;

    while (place != NULL && (place->id != id || place->queue == NULL))
        place = place->beside;
    return place;
}

struct hf_place *world_place(const struct host *host, uint64_t id)
{
    return place_of(world_session(host), id);
}

/* How many are ahead of it, all or only those that wait. */
static size_t count_ahead(const struct hf_place *place, bool waiting)
{
    size_t count = 0;

    for (place = place->prev; place != NULL; place = place->prev)
        count += !waiting || !place->granted;
    return count;
}

/* ---- Lines by themselves --------------------------------------------------------------- */

static void check_line(struct sim *sim, const struct hf_queue *queue)
{
    uint64_t weight = 0, seq = 0, token = 0;
    bool     fits = true;

    for (const struct hf_place *place = queue->first; place != NULL;
         place = place->next) {
        const struct hf_ticket *ticket = &place->ticket;
        weight += ticket->shape.weight;
        fits = fits && hf_shape_agrees(&ticket->shape, &queue->first->ticket.shape) &&
               weight <= ticket->shape.capacity;
        if (place->granted != fits)
            sim_fail(sim, "%s: ticket %d is %sgranted", queue->name, (int)ticket->seq,
                     fits ? "not " : "");
        if (ticket->seq <= seq || ticket->token <= token)
            sim_fail(sim, "%s: ticket %d is out of order", queue->name, (int)ticket->seq);
        seq = ticket->seq;
        token = ticket->token;
    }
}

/* A WATCH that has not come true is of somebody who knows all there is to know. */
static void check_sleep(struct sim *sim, const struct hf_req *watch)
{
    const struct hf_standing *known = &watch->standing;
    const struct hf_place    *place = place_of(watch->work, watch->id);
    const char               *missed = NULL;

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
        missed = "it follows its place, which is another";
    if (missed != NULL)
        sim_fail(sim, "%s: the owner of #%d sleeps, though %s", watch->name,
                 (int)watch->id, missed);
}

static void check_world(struct sim *sim)
{
    for (size_t i = 0; i < sim->names; i++) {
        struct hf_queue *queue = hf_world_line(&sim->net.world, sim->name[i].text, false);
        if (queue == NULL)
            continue;
        check_line(sim, queue);
        for (const struct hf_place *p = queue->first; p != NULL; p = p->next)
            for (const struct hf_req *w = p->watches.first; w != NULL; w = w->next)
                check_sleep(sim, w);
    }
}

/* ---- What became of each ticket ---------------------------------------------------------- */

static bool is_verb(const struct net_letter *letter, enum hf_op op)
{
    return letter != NULL && letter->kind == NET_VERB && letter->req.op == op;
}

/* As long as its watch has not come true, a follower knows its place. */
static void check_follower(struct wish *wish, const struct hf_place *place)
{
    if (place->watches.first == NULL ||
        wish->job.known.ahead == count_ahead(place, false))
        return;
    sim_fail(wish->sim, "%s follows its place in %s and is mistaken", wish->label,
             wish->name->text);
}

/* Whose ticket was it that a BREAK has just taken?  Its session keeps it. */
static bool was_broken(const struct wish *wish, const struct hf_session *session,
                       uint64_t token)
{
    const struct hf_place *place = session != NULL ? session->places : NULL;

    for (; place != NULL; place = place->beside)
        if (place->queue == NULL && place->ticket.token == token)
            return place->id == wish->job.hold.id;
    return false;
}

/* A holder's ticket stays what it was, and weighs no more than it says. */
static void check_ticket(const struct wish *wish, const struct hf_place *place)
{
    const struct hf_hold *hold = &wish->job.hold;

    if (place->ticket.token != hold->token || !place->granted)
        sim_fail(wish->sim, "%s holds %s by a ticket it does not know", wish->label,
                 wish->name->text);
    if (!hold->lessen && place->ticket.shape.weight > hf_hold_shape(hold)->weight)
        sim_fail(wish->sim, "%s holds less of %s, and its ticket does not", wish->label,
                 wish->name->text);
}

static void follow(struct wish *wish, const struct hf_session *session,
                   const struct net_letter *letter)
{
    struct hf_place *place = place_of(session, wish->job.hold.id);

    if (place != NULL && wish->state == HF_HOLD_HELD)
        check_ticket(wish, place);
    if (place != NULL && wish->job.follow && wish->state == HF_HOLD_WAITING)
        check_follower(wish, place);
    if (is_verb(letter, HF_BREAK) && was_broken(wish, session, letter->req.token))
        wish->broken = wish->job.hold.id;
    if (place == NULL || !place->granted)
        wish->served_at = HF_NEVER;
    else if (wish->served_at == HF_NEVER)
        wish->served_at = wish->sim->net.now;
    if (!wish->had || !wish->present || place_of(session, wish->id) != NULL)
        return;
    wish->present = false;
    if (is_verb(letter, HF_LEAVE) && letter->wire == wish->host->wire &&
        letter->req.id == wish->id)
        wish->left = true;
    else
        wish->taken = true;
}

static void tell_served(struct sim *sim, const struct net_letter *letter, bool answered)
{
    static const char *const kinds[] = { "HELLO", "RENEW", "", "FORGET", "BYE" };
    static const char *const verbs[] = {
        [HF_ENTER] = "ENTER", [HF_WATCH] = "WATCH", [HF_LEAVE] = "LEAVE",
        [HF_BREAK] = "BREAK", [HF_AMEND] = "AMEND", [HF_ASK] = "ASK",
    };

    if (letter == NULL)
        sim_say(sim, "        a session dies");
    else if (letter->kind != NET_VERB)
        sim_say(sim, "        world: %s of session %d, connection %d%s",
                kinds[letter->kind], (int)letter->session, (int)letter->connection,
                !answered      ? ""
                : letter->gone ? ": gone"
                               : ": ok");
    else
        sim_say(sim, "        world: %s %s #%d of session %d: %s", verbs[letter->req.op],
                letter->req.name, (int)letter->req.id, (int)letter->session,
                !answered      ? "nothing yet"
                : letter->gone ? "gone"
                               : hf_errname(letter->req.status));
}

/* ---- Answers ------------------------------------------------------------------------------ */

/* Would a newcomer have to wait, or is the line of another kind?  By a copy of the rule, on
 * purpose. */
static void judge_newcomer(const struct hf_queue *queue, const struct hf_shape *shape,
                           bool *waits, bool *differs)
{
    uint64_t weight = shape->weight;

    *differs = false;
    for (const struct hf_place *p = queue != NULL ? queue->first : NULL; p != NULL;
         p = p->next) {
        weight += p->ticket.shape.weight;
        *differs |= !hf_shape_agrees(&p->ticket.shape, shape);
    }
    *waits = !*differs && weight > shape->capacity;
}

/* An ENTER that is refused is so for a reason, and leaves nothing behind. */
static void check_refusal(struct sim *sim, const struct hf_req *req,
                          const struct hf_place *place, int status)
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
        sim_fail(sim, "%s: #%d is refused, and has ticket %d", req->name, (int)req->id,
                 (int)place->ticket.seq);
}

/* What ENTER, AMEND and WATCH say of our place. */
static void check_standing(struct sim *sim, const struct hf_req *req,
                           const struct hf_place *place, const struct hf_standing *told)
{
    enum hf_stand state = place == NULL    ? HF_STAND_NONE
                          : place->granted ? HF_STAND_HOLDS
                                           : HF_STAND_WAITS;
    bool          holds = state == HF_STAND_HOLDS;

    if (told->state != state)
        sim_fail(sim, "%s: #%d is told a wrong state", req->name, (int)req->id);
    if (place == NULL)
        return;
    if (told->token != place->ticket.token || told->slot != place->ticket.slot ||
        told->weight != place->ticket.shape.weight)
        sim_fail(sim, "%s: #%d is told of another ticket", req->name, (int)req->id);
    if (told->ahead != (holds ? 0 : count_ahead(place, false)))
        sim_fail(sim, "%s: #%d is told a wrong place", req->name, (int)req->id);
    if (req->op == HF_ENTER && req->only_free && !holds)
        sim_fail(sim, "%s: #%d waits, although it only tries", req->name, (int)req->id);
    if (req->op == HF_ENTER && req->limit != 0 && !holds &&
        count_ahead(place, true) >= req->limit)
        sim_fail(sim, "%s: ticket %d waits though the queue is full", req->name,
                 (int)place->ticket.seq);
}

/* From now on its owner is to hear of it. */
static void note_asked(struct sim *sim, const struct hf_req *req)
{
    const struct hf_queue *queue = hf_world_line(&sim->net.world, req->name, false);
    const struct hf_place *place = hf_queue_find(queue, req->token);

    for (size_t i = 0; i < sim->hosts; i++)
        for (size_t j = 0; sim->host[i].store != NULL && j < sim->wishes; j++)
            if (world_place(&sim->host[i], sim->wish[i][j].job.hold.id) == place)
                sim->wish[i][j].asked_at = sim->net.now;
}

static void check_answer(struct sim *sim, const struct net_letter *letter)
{
    const struct hf_req   *req = &letter->req;
    const struct hf_place *place =
        place_of(hf_world_session(&sim->net.world, letter->session), req->id);

    if (req->op == HF_ENTER && req->status != 0)
        check_refusal(sim, req, place, req->status);
    else if (req->op == HF_ENTER || req->op == HF_AMEND ||
             (req->op == HF_WATCH && req->id != 0))
        check_standing(sim, req, place, &req->standing);
    else if (req->op == HF_ASK && req->status == 0)
        note_asked(sim, req);
}

/* A letter that only keeps a session, or has it forget a watch, changes no line. */
static bool concerns_lines(const struct net_letter *letter)
{
    return letter == NULL || letter->kind == NET_VERB || letter->kind == NET_BYE;
}

void world_served(struct net *net, const struct net_letter *letter, bool answered)
{
    struct sim *sim = net->data;

    if (sim->verbose)
        tell_served(sim, letter, answered);
    if (!concerns_lines(letter))
        return;
    sim->touched = ~0u;
    check_world(sim);
    if (answered && letter->kind == NET_VERB && !letter->gone)
        check_answer(sim, letter);
    for (size_t i = 0; i < sim->hosts; i++) {
        if (sim->host[i].store == NULL)
            continue;
        const struct hf_session *session = world_session(&sim->host[i]);
        for (size_t j = 0; j < sim->wishes; j++)
            follow(&sim->wish[i][j], session, letter);
    }
}
