/* world.c - what must never be in the world, whatever is believed elsewhere. */
#include "sim.h"

#include "holdfast.h"
#include "store/memory/client.h"

struct hf_session *world_session(const struct host *host)
{
    const struct hf_memory *memory = (const struct hf_memory *)host->store;

    return hf_world_session(&host->net->world, memory->session);
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
    for (const struct hf_watch *watch = queue->watches; watch != NULL;
         watch = watch->next)
        if (watch->waits && watch->mine != NULL && watch->mine->granted)
            sim_fail(sim, "%s: the owner of ticket %d sleeps, though it is granted",
                     queue->name, (int)watch->mine->ticket.seq);
}

static void check_world(struct sim *sim)
{
    for (size_t i = 0; i < sim->names; i++) {
        struct hf_queue *queue = hf_world_line(&sim->net.world, sim->name[i].text, false);
        if (queue != NULL)
            check_line(sim, queue);
    }
}

/* ---- What became of each ticket ---------------------------------------------------------- */

static bool is_verb(const struct net_letter *letter, enum hf_op op)
{
    return letter != NULL && letter->call.kind == HF_CALL_VERB && letter->req.op == op;
}

/* As long as its watch has not come true, a follower knows its place. */
static void check_follower(struct wish *wish, const struct hf_place *place)
{
    const struct hf_watch *watch = place->queue->watches;

    while (watch != NULL && watch->mine != place)
        watch = watch->next;
    if (watch == NULL || wish->job.ahead == count_ahead(place, false))
        return;
    sim_fail(wish->sim, "%s follows its place in %s and is mistaken", wish->label,
             wish->name->text);
}

/* Whose ticket was it that a BREAK has just taken?  Its session keeps it. */
static bool was_broken(const struct wish *wish, const struct hf_session *session,
                       uint64_t seq)
{
    const struct hf_place *place = session != NULL ? session->places : NULL;

    for (; place != NULL; place = place->beside)
        if (place->queue == NULL && place->ticket.seq == seq)
            return place->id == wish->job.hold.id;
    return false;
}

/* A holder's ticket stays what it was, and weighs no more than it says. */
static void check_ticket(const struct wish *wish, const struct hf_place *place)
{
    const struct hf_hold *hold = &wish->job.hold;

    if (place->ticket.token != hold->token || place->ticket.seq != hold->seq ||
        !place->granted)
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
    if (place != NULL && wish->job.hold.follow && wish->state == HF_HOLD_WAITING)
        check_follower(wish, place);
    if (is_verb(letter, HF_BREAK) && was_broken(wish, session, letter->req.seq))
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

static void tell_served(struct sim *sim, const struct net_letter *letter,
                        const struct hf_answer *answer)
{
    static const char *const kinds[] = { "HELLO", "RENEW", "", "FORGET", "BYE" };
    static const char *const verbs[] = { "",     "ENTER", "READ",  "WATCH", "LEAVE",
                                         "LIST", "BREAK", "AMEND", "ASK" };

    if (letter == NULL)
        sim_say(sim, "        a session dies");
    else if (letter->call.kind != HF_CALL_VERB)
        sim_say(sim, "        world: %s of session %d, connection %d%s",
                kinds[letter->call.kind], (int)letter->call.session,
                (int)letter->call.connection,
                answer == NULL ? ""
                : answer->gone ? ": gone"
                               : ": ok");
    else
        sim_say(sim, "        world: %s %s #%d of session %d%s", verbs[letter->req.op],
                letter->req.name, (int)letter->req.id, (int)letter->call.session,
                answer == NULL   ? ": nothing yet"
                : answer->gone   ? ": gone"
                : answer->status ? ": failed"
                                 : ": ok");
}

/* ---- Answers ------------------------------------------------------------------------------ */

static struct hf_place *place_at(const struct sim *sim, const struct hf_req *req,
                                 uint64_t seq)
{
    struct hf_queue *queue =
        hf_world_line((struct hf_world *)&sim->net.world, req->name, false);

    return queue != NULL ? hf_queue_find(queue, seq) : NULL;
}

static void check_full(struct sim *sim, const struct hf_req *req)
{
    struct hf_queue *queue = hf_world_line(&sim->net.world, req->name, false);

    if (req->limit == 0 || queue == NULL || queue->waiting < req->limit)
        sim_fail(sim, "%s: full for somebody with a limit of %u", req->name, req->limit);
}

/* What ENTER, READ and AMEND say of our place. */
static void check_place(struct sim *sim, const struct hf_req *req,
                        const struct hf_answer *answer)
{
    if (answer->me == answer->count)
        return;
    uint64_t               seq = answer->ticket[answer->me].seq;
    const struct hf_place *place = place_at(sim, req, seq);
    if (place == NULL) {
        sim_fail(sim, "%s: there is no ticket %d", req->name, (int)seq);
        return;
    }
    if (answer->ahead != count_ahead(place, false))
        sim_fail(sim, "%s: ticket %d is told a wrong place", req->name, (int)seq);
    if (req->op == HF_ENTER && req->limit != 0 && !place->granted &&
        count_ahead(place, true) >= req->limit)
        sim_fail(sim, "%s: ticket %d waits though the queue is full", req->name,
                 (int)seq);
}

/* The word left at a place is heard by whoever watches, before or after. */
static void check_asked(struct sim *sim, const struct hf_req *req)
{
    const struct hf_place *place = place_at(sim, req, req->seq);

    for (size_t i = 0; i < sim->hosts; i++)
        for (size_t j = 0; sim->host[i].store != NULL && j < sim->wishes; j++)
            if (world_place(&sim->host[i], sim->wish[i][j].job.hold.id) == place)
                sim->wish[i][j].asked_at = sim->net.now;
    for (const struct hf_watch *watch = place->queue->watches; watch != NULL;
         watch = watch->next)
        if (watch->mine == place)
            sim_fail(sim, "%s: the owner of ticket %d sleeps, though it is asked",
                     req->name, (int)req->seq);
}

static void check_sleep(struct sim *sim, const struct net_letter *letter)
{
    const struct hf_req *req = &letter->req;
    struct hf_session *session = hf_world_session(&sim->net.world, letter->call.session);
    const struct hf_place *place =
        session != NULL ? hf_session_place(session, req->id) : NULL;

    if (place != NULL && letter->connection == session->connection &&
        place->asked_at > req->stamp)
        sim_fail(sim, "%s: ticket %d is watched by its owner, who was asked before",
                 req->name, (int)place->ticket.seq);
}

static void check_answer(struct sim *sim, const struct net_letter *letter,
                         const struct hf_answer *answer)
{
    const struct hf_req *req = &letter->req;

    if (is_verb(letter, HF_WATCH) && answer == NULL)
        check_sleep(sim, letter);
    if (answer == NULL || answer->gone || letter->call.kind != HF_CALL_VERB)
        return;
    if (req->op == HF_ENTER && answer->status == HF_EFULL)
        check_full(sim, req);
    else if (req->op == HF_ENTER || req->op == HF_READ || req->op == HF_AMEND)
        check_place(sim, req, answer);
    else if (req->op == HF_ASK && answer->status == 0)
        check_asked(sim, req);
}

/* A letter that only keeps a session, or has it forget a watch, changes no line. */
static bool concerns_lines(const struct net_letter *letter)
{
    return letter == NULL || letter->call.kind == HF_CALL_VERB ||
           letter->call.kind == HF_CALL_BYE;
}

void world_served(struct net *net, const struct net_letter *letter,
                  const struct hf_answer *answer)
{
    struct sim *sim = net->data;

    if (sim->verbose)
        tell_served(sim, letter, answer);
    if (!concerns_lines(letter))
        return;
    sim->touched = ~0u;
    check_world(sim);
    if (letter != NULL)
        check_answer(sim, letter, answer);
    for (size_t i = 0; i < sim->hosts; i++) {
        if (sim->host[i].store == NULL)
            continue;
        const struct hf_session *session = world_session(&sim->host[i]);
        for (size_t j = 0; j < sim->wishes; j++)
            follow(&sim->wish[i][j], session, letter);
    }
}
