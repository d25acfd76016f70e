/* check.c - checks what applications learn.
 *
 * It compares what applications believe (struct wish) with the state of the store.  A
 * client counts as a holder from its notification until it releases, or until its
 * deadline passes by its own clock, whether or not it runs then.  A downgrade counts from
 * the call.
 */
#include "sim.h"

#include "holdfast.h"

/* Is its deadline ahead, by its own clock? */
static bool sure(const struct sim_client *client)
{
    return sim_client_clock(client, client->net->now) < client->store->alive_until;
}

static bool evicted(const struct wish *wish)
{
    return wish->taken && wish->broken == wish->id;
}

/* ---- Grants and their ends ----------------------------------------------------- */

static bool conflict(const struct hf_shape *a, const struct hf_shape *b)
{
    return !hf_shape_agrees(a, b) || (uint64_t)a->weight + b->weight > a->capacity;
}

/* Places that exclude each other are granted with rising tokens. */
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
    const struct hf_hold  *hold = &wish->job.hold;
    struct hf_world_place *place = world_place(wish->client, hold->id);

    wish->sim->ends[0]++;
    wish->sim->granted = true;
    wish->had = true;
    wish->id = hold->id;
    wish->slot = hold->slot;
    wish->present = place != NULL;
    wish->taken = place == NULL;
    wish->left = false;
    if (!sure(wish->client))
        sim_fail(wish->sim, "%s is granted after its deadline", wish->label);
    if (place == NULL && wish->broken != hold->id)
        sim_fail(wish->sim, "%s holds %s without a place", wish->label, wish->name->text);
    if (place == NULL)
        return;
    if (!place->granted)
        sim_fail(wish->sim, "%s jumps the queue for %s", wish->label, wish->name->text);
    if (place->place.token != hold->token || place->place.slot != hold->slot)
        sim_fail(wish->sim, "%s has another place than it believes", wish->label);
    check_token(wish, hold->token);
}

void check_over(struct wish *wish)
{
    struct sim *sim = wish->sim;
    int         why = wish->job.hold.why;
    bool        in_time = wish->job.engine->now < wish->job.deadline;

    if (wish->had && why == 0 && (!wish->left || wish->taken))
        sim_fail(sim, "%s releases without an error, but had lost %s", wish->label,
                 wish->name->text);
    if (wish->had && why != 0 && (why != HF_ELOST || sim->peaceful))
        sim_fail(sim, "the release of %s ends with %s", wish->label, hf_errname(why));
    if (!wish->had &&
        (why == 0 || why == HF_ELOST || (why == HF_EMISMATCH && !wish->name->mixed)))
        sim_fail(sim, "%s was never granted, but ends with %s", wish->label,
                 hf_errname(why));
    if (why == HF_EFULL && wish->job.limit == 0)
        sim_fail(sim, "%s set no limit, but finds the queue full", wish->label);
    if (!wish->had && in_time && (why == HF_ETIMEOUT || why == HF_EDOWN))
        sim_fail(sim, "%s has time left, but ends with %s", wish->label, hf_errname(why));
    if (why != 0)
        sim->ends[-why]++;
    wish->had = false;
    wish->served_at = wish->asked_at = HF_NEVER;
}

/* Every earlier leader has been deposed by now, or knows by its clock that its time is
 * over.  Only a leader whose place was broken may not have been notified yet. */
void check_elected(const struct wish *wish)
{
    struct sim *sim = wish->sim;

    sim->seen[SEEN_LEADER]++;
    for (size_t i = 0; !evicted(wish) && i < sim->clients; i++)
        for (size_t j = 0; sim->client[i].store != NULL && j < sim->wishes; j++) {
            const struct wish *other = &sim->wish[i][j];
            if (other != wish && other->name == wish->name && other->leads &&
                !evicted(other) && sure(other->client))
                sim_fail(sim, "%s is elected while %s leads", wish->label, other->label);
        }
}

/* ---- Around a turn ------------------------------------------------------------- */

void check_run(struct sim *sim, struct sim_client *client)
{
    struct wish *wish = sim->wish[sim_index(sim, client)];
    bool         expired = !sure(client);
    unsigned     held = 0;

    for (size_t i = 0; i < sim->wishes; i++)
        held |= (wish[i].state == HF_HOLD_HELD ? 1u : 0u) << i;
    sim_client_run(client);
    sim->touched |= 1u << sim_index(sim, client);
    for (size_t i = 0; i < sim->wishes; i++) {
        if (expired && held & 1u << i && wish[i].state == HF_HOLD_HELD)
            sim_fail(sim, "%s holds on past its deadline", wish[i].label);
        if (sim_waiting(&wish[i]) && client->engine.now >= wish[i].job.deadline)
            sim_fail(sim, "%s waits past its time limit", wish[i].label);
    }
}

/* ---- After every step ---------------------------------------------------------- */

static bool counts(const struct wish *wish)
{
    return wish->state == HF_HOLD_HELD && wish->had && !evicted(wish) &&
           sure(wish->client);
}

static void check_pair(struct sim *sim, const struct wish *a, const struct wish *b)
{
    if (!hf_shape_agrees(&a->job.hold.shape, &b->job.hold.shape))
        sim_fail(sim, "%s and %s hold different kinds of %s", a->label, b->label,
                 a->name->text);
    if (a->slot >= 0 && a->slot == b->slot)
        sim_fail(sim, "%s and %s both have slot %d", a->label, b->label, a->slot);
}

/* Holders never exceed the capacity, and are of one kind.  Only a grant can change
 * that. */
static void check_holders(struct sim *sim)
{
    const struct wish *holder[CLIENTS * WISHES];
    size_t             count = 0;

    for (size_t i = 0; i < sim->clients; i++)
        for (size_t j = 0; sim->client[i].store != NULL && j < sim->wishes; j++)
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

/* The session of a live client is in the store, and every place in it belongs to a
 * wish. */
static void check_session(struct sim *sim, size_t index)
{
    const struct sim_client *client = &sim->client[index];
    uint64_t                 number = ((const struct sim_store *)client->store)->session;
    struct hf_session       *session = world_session(client);

    bool early = number > sim->trouble[index].forgotten && sure(client);
    if (session == NULL && early)
        sim_fail(sim, "%c: its session died before the deadline", (char)('a' + index));
    if (session == NULL)
        return;
    for (struct hf_world_place *place = session->places; place != NULL;
         place = place->beside) {
        bool wanted = place->queue == NULL;
        for (size_t i = 0; i < sim->wishes; i++)
            wanted |= sim->wish[index][i].job.hold.id == place->id &&
                      sim->wish[index][i].state != HF_HOLD_IDLE;
        if (!wanted)
            sim_fail(sim, "%c: place %d of %s is left behind", (char)('a' + index),
                     (int)place->place.seq, place->queue->name);
    }
}

/* All or none: no part of a group at rest holds or waits. */
static void check_group(struct sim *sim, const struct group *group)
{
    for (size_t i = 0; group->state == GROUP_REST && i < group->parts; i++)
        if (group->part[i]->state != HF_HOLD_IDLE)
            sim_fail(sim, "%s is left over from a group", group->part[i]->label);
}

/* A grant or an ASK that its client does not hear of in a reasonable time. */
static void check_awake(struct sim *sim, size_t index)
{
    hf_time bound = 4 * sim->ttl + 4 * HF_SEC;
    hf_time rough = sim->trouble[index].rough_until;

    for (size_t i = 0; !sim->client[index].stopped && i < sim->wishes; i++) {
        const struct wish *wish = &sim->wish[index][i];
        hf_time            since = wish->served_at > rough ? wish->served_at : rough;
        if (sim_waiting(wish) && wish->served_at < HF_NEVER &&
            sim->net.now - since > bound)
            sim_fail(sim, "%s is granted %s and is not notified", wish->label,
                     wish->name->text);
        if (sim->peaceful && wish->asked_at < sim->net.now - 50 * HF_MS)
            sim_fail(sim, "%s is asked for %s and is not notified", wish->label,
                     wish->name->text);
    }
}

void check_step(struct sim *sim)
{
    if (sim->granted)
        check_holders(sim);
    for (size_t i = 0; i < sim->clients; i++) {
        if (sim->client[i].store == NULL || !(sim->touched & 1u << i))
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
            sim_fail(sim, "the queue of %s is left behind",
                     sim->net.world.queue[i]->name);
    if (sim->net.world.sessions != NULL)
        sim_fail(sim, "session %d is left behind", (int)sim->net.world.sessions->number);
}
