/* check.c - what applications must never be told.
 *
 * Two views are compared: what applications believe (struct wish), and what the
 * world knows.  A holder counts from when it is told until it releases or its
 * deadline passes by its own clock, whether or not it runs by then.  A holder that
 * holds less counts for less from when it says so.
 */
#include "sim.h"

#include "holdfast.h"

/* Has it time left, by its own clock? */
static bool sure(const struct host *host)
{
    return host_clock(host, host->net->now) < host->store->alive_until;
}

static bool evicted(const struct wish *wish)
{
    return wish->taken && wish->broken == wish->id;
}

/* ---- Grants and their ends ----------------------------------------------------------------- */

static bool conflict(const struct hf_shape *a, const struct hf_shape *b)
{
    return !hf_shape_agrees(a, b) || (uint64_t)a->weight + b->weight > a->capacity;
}

/* Who may not hold together holds one after the other, with rising tokens. */
static void check_token(struct wish *wish, uint64_t token)
{
    struct name *name = wish->name;

    for (size_t i = 0; i < name->shapes; i++) {
        bool same = name->shape[i].weight == wish->job.hold.shape.weight &&
                    hf_shape_agrees(&name->shape[i], &wish->job.hold.shape);
        if (conflict(&name->shape[i], &wish->job.hold.shape) && name->top[i] >= token)
            sim_fail(wish->sim, "%s gets token %d of %s after token %d", wish->label,
                     (int)token, name->text, (int)name->top[i]);
        if (same && token > name->top[i])
            name->top[i] = token;
    }
}

void check_granted(struct wish *wish)
{
    const struct hf_hold *hold = &wish->job.hold;
    struct hf_place      *place = world_place(wish->host, hold->id);

    wish->sim->ends[0]++;
    wish->sim->granted = true;
    wish->had = true;
    wish->id = hold->id;
    wish->slot = hold->slot;
    wish->present = place != NULL;
    wish->taken = place == NULL;
    wish->left = false;
    if (!sure(wish->host))
        sim_fail(wish->sim, "%s is told it holds, after its deadline", wish->label);
    if (place == NULL && wish->broken != hold->id)
        sim_fail(wish->sim, "%s holds %s without a ticket", wish->label,
                 wish->name->text);
    if (place == NULL)
        return;
    if (!place->granted)
        sim_fail(wish->sim, "%s jumps the queue for %s", wish->label, wish->name->text);
    if (place->ticket.token != hold->token || place->ticket.slot != hold->slot)
        sim_fail(wish->sim, "%s has another ticket than it thinks", wish->label);
    check_token(wish, hold->token);
}

void check_over(struct wish *wish)
{
    struct sim *sim = wish->sim;
    int         why = wish->job.hold.why;
    bool        in_time = wish->job.engine->now < wish->job.deadline;

    if (wish->had && why == 0 && (!wish->left || wish->taken))
        sim_fail(sim, "%s is told its release was good, but it had lost %s", wish->label,
                 wish->name->text);
    if (wish->had && why != 0 && (why != HF_ELOST || sim->peaceful))
        sim_fail(sim, "the release of %s says %s", wish->label, hf_errname(why));
    if (!wish->had &&
        (why == 0 || why == HF_ELOST || (why == HF_EMISMATCH && !wish->name->mixed)))
        sim_fail(sim, "%s never had it and is told %s", wish->label, hf_errname(why));
    if (why == HF_EFULL && wish->job.limit == 0)
        sim_fail(sim, "%s set no limit and is told the queue is full", wish->label);
    if (!wish->had && in_time && (why == HF_ETIMEOUT || why == HF_EDOWN))
        sim_fail(sim, "%s has time left and is told %s", wish->label, hf_errname(why));
    if (why != 0)
        sim->ends[-why]++;
    wish->had = false;
    wish->served_at = wish->asked_at = HF_NEVER;
}

/* Whoever led before has been deposed by now, or knows by its clock that it is over.
 * Whom an operator has deposed in the world may not have heard of it yet. */
void check_elected(const struct wish *wish)
{
    struct sim *sim = wish->sim;

    sim->seen[SEEN_LEADER]++;
    for (size_t i = 0; !evicted(wish) && i < sim->hosts; i++)
        for (size_t j = 0; sim->host[i].store != NULL && j < sim->wishes; j++) {
            const struct wish *other = &sim->wish[i][j];
            if (other != wish && other->name == wish->name && other->leads &&
                !evicted(other) && sure(other->host))
                sim_fail(sim, "%s is elected while %s leads", wish->label, other->label);
        }
}

/* ---- Around a turn ----------------------------------------------------------------------------- */

void check_run(struct sim *sim, struct host *host)
{
    struct wish *wish = sim->wish[sim_index(sim, host)];
    bool         expired = !sure(host);
    unsigned     held = 0;

    for (size_t i = 0; i < sim->wishes; i++)
        held |= (wish[i].state == HF_HOLD_HELD ? 1u : 0u) << i;
    host_run(host);
    sim->touched |= 1u << sim_index(sim, host);
    for (size_t i = 0; i < sim->wishes; i++) {
        if (expired && held & 1u << i && wish[i].state == HF_HOLD_HELD)
            sim_fail(sim, "%s holds on past its deadline", wish[i].label);
        if (sim_waiting(&wish[i]) && host->engine.now >= wish[i].job.deadline)
            sim_fail(sim, "%s waits past its time limit", wish[i].label);
    }
}

/* ---- After every step -------------------------------------------------------------------------- */

static bool counts(const struct wish *wish)
{
    return wish->state == HF_HOLD_HELD && wish->had && !evicted(wish) && sure(wish->host);
}

static void check_pair(struct sim *sim, const struct wish *a, const struct wish *b)
{
    if (!hf_shape_agrees(&a->job.hold.shape, &b->job.hold.shape))
        sim_fail(sim, "%s and %s hold different kinds of %s", a->label, b->label,
                 a->name->text);
    if (a->slot >= 0 && a->slot == b->slot)
        sim_fail(sim, "%s and %s both have slot %d", a->label, b->label, a->slot);
}

/* Never over capacity, and never of two kinds.  It can only become so by a grant. */
static void check_holders(struct sim *sim)
{
    const struct wish *holder[HOSTS * WISHES];
    size_t             count = 0;

    for (size_t i = 0; i < sim->hosts; i++)
        for (size_t j = 0; sim->host[i].store != NULL && j < sim->wishes; j++)
            if (counts(&sim->wish[i][j]))
                holder[count++] = &sim->wish[i][j];
    for (size_t i = 0; i < count; i++) {
        uint64_t weight = hf_hold_shape(&holder[i]->job.hold)->weight;
        for (size_t j = 0; j < i; j++) {
            if (holder[j]->name != holder[i]->name)
                continue;
            check_pair(sim, holder[j], holder[i]);
            weight += hf_hold_shape(&holder[j]->job.hold)->weight;
        }
        if (weight > holder[i]->job.hold.shape.capacity)
            sim_fail(sim, "%s: over capacity with %s", holder[i]->name->text,
                     holder[i]->label);
    }
}

/* A living session is known to the world, and has no ticket nobody wants. */
static void check_session(struct sim *sim, size_t index)
{
    const struct host *host = &sim->host[index];
    uint64_t           number = ((const struct far *)host->store)->session;
    struct hf_session *session = world_session(host);

    bool early = number > sim->trouble[index].forgotten && sure(host);
    if (session == NULL && early)
        sim_fail(sim, "%c: its session died before the deadline", (char)('a' + index));
    if (session == NULL)
        return;
    for (struct hf_place *place = session->places; place != NULL; place = place->beside) {
        bool wanted = place->queue == NULL;
        for (size_t i = 0; i < sim->wishes; i++)
            wanted |= sim->wish[index][i].job.hold.id == place->id &&
                      sim->wish[index][i].state != HF_HOLD_IDLE;
        if (!wanted)
            sim_fail(sim, "%c: ticket %d of %s is left behind", (char)('a' + index),
                     (int)place->ticket.seq, place->queue->name);
    }
}

/* All or none: at rest nothing is left of it. */
static void check_group(struct sim *sim, const struct group *group)
{
    for (size_t i = 0; group->state == GROUP_REST && i < group->parts; i++)
        if (group->part[i]->state != HF_HOLD_IDLE)
            sim_fail(sim, "%s is left over from several taken as one",
                     group->part[i]->label);
}

/* Granted by the world, and not told within any reasonable time. */
static void check_awake(struct sim *sim, size_t index)
{
    hf_time bound = 4 * sim->ttl + 4 * HF_SEC;
    hf_time rough = sim->trouble[index].rough_until;

    for (size_t i = 0; !sim->host[index].stopped && i < sim->wishes; i++) {
        const struct wish *wish = &sim->wish[index][i];
        hf_time            since = wish->served_at > rough ? wish->served_at : rough;
        if (sim_waiting(wish) && wish->served_at < HF_NEVER &&
            sim->net.now - since > bound)
            sim_fail(sim, "%s is granted %s and does not hear of it", wish->label,
                     wish->name->text);
        if (sim->peaceful && wish->asked_at < sim->net.now - 50 * HF_MS)
            sim_fail(sim, "%s is asked for %s and does not hear of it", wish->label,
                     wish->name->text);
    }
}

void check_step(struct sim *sim)
{
    if (sim->granted)
        check_holders(sim);
    for (size_t i = 0; i < sim->hosts; i++) {
        if (sim->host[i].store == NULL || !(sim->touched & 1u << i))
            continue;
        check_session(sim, i);
        check_group(sim, &sim->group[i]);
        check_awake(sim, i);
    }
    sim->granted = false;
    sim->touched = 0;
}

void check_end(struct sim *sim)
{
    for (size_t i = 0; i < HF_WORLD_BUCKETS; i++)
        if (sim->net.world.queue[i] != NULL)
            sim_fail(sim, "the line %s is left behind", sim->net.world.queue[i]->name);
    if (sim->net.world.sessions != NULL)
        sim_fail(sim, "session %d is left behind", (int)sim->net.world.sessions->number);
}
