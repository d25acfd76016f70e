/* plan.c - draws a schedule from its seed. */
#include "sim.h"

#include "base/random.h"

#include <stdio.h>
#include <string.h>

uint64_t sim_draw(struct sim *sim, uint64_t below)
{
    return hf_random_next(&sim->random) % below;
}

hf_time sim_span(struct sim *sim, hf_time least, hf_time most)
{
    return least + (hf_time)sim_draw(sim, (uint64_t)(most - least + 1));
}

bool sim_maybe(struct sim *sim, unsigned percent)
{
    return sim_draw(sim, 100) < percent;
}

/* ---- Locks ------------------------------------------------------------------------ */

static void add_shape(struct name *name, uint32_t weight, uint32_t capacity, bool claim)
{
    name->shape[name->shapes++] = (struct hf_shape){ weight, capacity, claim };
}

static void plan_name(struct sim *sim, struct name *name, size_t index)
{
    *name = (struct name){ 0 };
    snprintf(name->text, sizeof name->text, "%c", (char)('x' + index));
    if (sim_maybe(sim, 3)) {
        name->mixed = true;
        add_shape(name, 1, 1, false);
        add_shape(name, 1, 3, false);
        add_shape(name, HF_ALL, HF_ALL, false);
        add_shape(name, 1, 1, true);
        return;
    }
    switch (sim_draw(sim, 5)) {
    case 0:
        add_shape(name, 1, 1, false);
        break;
    case 1:
        add_shape(name, 1, HF_ALL, false);
        add_shape(name, HF_ALL, HF_ALL, false);
        break;
    case 2:
        add_shape(name, 1, 1, true);
        break;
    default: { /* a semaphore, of equal or different weights */
        uint32_t capacity = 2 + (uint32_t)sim_draw(sim, 3);
        uint32_t most = sim_maybe(sim, 50) ? 1 : capacity;
        for (uint32_t weight = 1; weight <= most; weight++)
            add_shape(name, weight, capacity, false);
    }
    }
}

/* ---- Clients ------------------------------------------------------------------- */

static void plan_wish(struct sim *sim, struct sim_client *client, struct wish *wish)
{
    const struct hf_shape *shape = &wish->name->shape[sim_draw(sim, wish->name->shapes)];
    bool                   mutex = shape->capacity == 1 && !shape->claim;

    hf_job_init(&wish->job, &client->engine, wish->name->text, shape);
    wish->job.on_change = app_change;
    wish->state = HF_HOLD_IDLE;
    wish->job.limit = sim_maybe(sim, 20) ? 1 + (uint32_t)sim_draw(sim, 2) : 0;
    wish->job.follow = sim_maybe(sim, 15);
    wish->group = NULL;
    wish->candidate = mutex && !wish->name->mixed && sim_maybe(sim, 30);
    if (wish->candidate)
        wish->job.limit = 0;
    wish->had = wish->present = wish->leads = false;
    wish->broken = 0;
    wish->served_at = wish->asked_at = HF_NEVER;
    wish->act = sim->net.now + sim_span(sim, 0, 30 * HF_MS);
}

void plan_start_client(struct sim *sim, struct sim_client *client)
{
    size_t index = sim_index(sim, client);

    sim_client_start(client, sim_draw(sim, UINT64_MAX));
    for (size_t i = 0; i < sim->wishes; i++)
        plan_wish(sim, client, &sim->wish[index][i]);
    sim->request[index] = (struct request){ .when = HF_NEVER };
    group_plan(sim, index);
}

static void plan_host(struct sim *sim, size_t index)
{
    struct sim_client *client = &sim->client[index];

    /* Clocks start anywhere, and drift as much as a lease allows for. */
    *client = (struct sim_client){ .net = &sim->net,
                                   .ttl = sim->ttl,
                                   .offset = sim_span(sim, 1, 1000 * HF_SEC),
                                   .drift = sim_span(sim, -1950, 1950) };
    sim->trouble[index] =
        (struct trouble){ .next = sim->peaceful ? HF_NEVER
                                                : sim_span(sim, 0, 2 * sim->pace) };
    for (size_t i = 0; i < sim->wishes; i++) {
        struct wish *wish = &sim->wish[index][i];
        wish->sim = sim;
        wish->client = client;
        wish->name = &sim->name[sim_draw(sim, sim->names)];
        wish->rounds = 1 + (unsigned)sim_draw(sim, 3);
        snprintf(wish->label, sizeof wish->label, "%c%u", (char)('a' + index),
                 (unsigned)i + 1);
    }
    plan_start_client(sim, client);
}

/* ---- Faults ---------------------------------------------------------------------- */

static void plan_weather(struct sim *sim)
{
    static const hf_time ttls[] = { 300 * HF_MS, HF_SEC, 3 * HF_SEC };

    sim->ttl = sim_maybe(sim, 85) ? ttls[sim_draw(sim, 3)] : 0;
    sim->peaceful = sim_maybe(sim, 8);
    sim->lossy = sim_maybe(sim, 60) ? (unsigned)sim_draw(sim, 40) : 0;
    sim->jumpy = (unsigned)sim_draw(sim, 25);
    sim->breaks = sim_maybe(sim, 30) ? 20 : 0;

    hf_time scale = sim->ttl > 0 ? sim->ttl : HF_SEC;
    sim->pace = scale / (hf_time)(1 + sim_draw(sim, 4));
    sim->calm_at = sim_span(sim, scale, 4 * scale);
}

void plan_make(struct sim *sim, uint64_t seed)
{
    sim->seed = seed;
    sim->random = seed * 0x9e3779b97f4a7c15u + 1;
    sim->calm = sim->failed = sim->query_out = false;
    sim->steps = sim->deaths = 0;
    sim->reasons = sim->touched = 0;
    sim->granted = false;
    plan_weather(sim);

    sim_network_init(&sim->net);
    sim->net.travel = chaos_travel;
    sim->net.served = world_served;
    sim->net.data = sim;
    /* A client that is woken for nothing pauses before it watches again. */
    sim->net.world.eager = !sim->peaceful && sim_maybe(sim, 30);
    sim->net.world.token = sim_draw(sim, 1000);

    sim->clients = 2 + sim_draw(sim, CLIENTS - 1);
    sim->grouped = sim_maybe(sim, 20);
    sim->wishes =
        sim->grouped ? 2 + sim_draw(sim, WISHES - 1) : 1 + sim_draw(sim, WISHES);
    sim->names = 1 + sim_draw(sim, sim->clients * sim->wishes < 6 ? 2 : NAMES);
    if (sim->grouped && sim->names == 1)
        sim->names = 2;
    for (size_t i = 0; i < sim->names; i++)
        plan_name(sim, &sim->name[i], i);
    for (size_t i = 0; i < sim->clients; i++)
        plan_host(sim, i);
}

size_t sim_index(const struct sim *sim, const struct sim_client *client)
{
    return (size_t)(client - sim->client);
}

bool sim_waiting(const struct wish *wish)
{
    return wish->state == HF_HOLD_ENTERING || wish->state == HF_HOLD_WAITING ||
           wish->state == HF_HOLD_OUTSIDE;
}
