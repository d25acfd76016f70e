/* chaos.c - faults: lost and slow messages, broken links, pauses, deaths. */
#include "sim.h"

static hf_time later(hf_time a, hf_time b)
{
    return a > b ? a : b;
}

static hf_time scale(const struct sim *sim)
{
    return sim->ttl > 0 ? sim->ttl : HF_SEC;
}

/* The client that has this wire now; CLIENTS: none, its client has been restarted. */
static size_t owner(const struct sim *sim, const struct sim_wire *wire)
{
    size_t i = 0;

    while (i < sim->clients &&
           (sim->client[i].store == NULL || sim->client[i].wire != wire))
        i++;
    return i < sim->clients ? i : CLIENTS;
}

hf_time chaos_travel(struct sim_network *net, struct sim_wire *wire,
                     const struct sim_message *message)
{
    struct sim           *sim = net->data;
    size_t                i = owner(sim, wire);
    const struct trouble *trouble = i < CLIENTS ? &sim->trouble[i] : NULL;
    hf_time               delay = sim_span(sim, HF_MS / 10, 2 * HF_MS);

    if (sim->calm || sim->peaceful)
        return delay;
    if (trouble != NULL && net->now < trouble->down_until &&
        (message->to_world ? trouble->to_world : trouble->to_client))
        return SIM_LOST;
    if (sim->ttl > 0 && sim->lossy > 0 && sim_draw(sim, 1000) < sim->lossy) {
        sim_tell(sim, "a message %s %c is lost", message->to_world ? "from" : "to",
                 i < CLIENTS ? (char)('a' + i) : '?');
        return SIM_LOST;
    }
    if (trouble != NULL && net->now < trouble->slow_until)
        delay += sim_span(sim, 0, scale(sim) / 2);
    else if (sim_maybe(sim, sim->jumpy))
        delay += sim_span(sim, 0, scale(sim) / 6);
    return delay;
}

/* ---- Faults of one client ------------------------------------------------------ */

static void plan_next(struct sim *sim, struct trouble *trouble)
{
    trouble->next = sim->net.now + sim_span(sim, 0, 2 * sim->pace);
}

static void take_down(struct sim *sim, struct trouble *trouble, char who)
{
    hf_time span = sim_span(sim, 0, sim_maybe(sim, 40) ? 2 * sim->ttl : sim->ttl / 2);
    size_t  which = sim_draw(sim, 4);

    trouble->down_until = sim->net.now + span;
    trouble->to_world = which != 0;
    trouble->to_client = which != 1;
    sim_tell(sim, "%c: the link is down%s", who,
             which == 0   ? ", answers are lost"
             : which == 1 ? ", requests are lost"
                          : "");
}

static void stop(struct sim *sim, struct sim_client *client, struct trouble *trouble,
                 char who)
{
    hf_time span = sim_span(sim, 0, scale(sim) * (sim_maybe(sim, 40) ? 2 : 1) / 2);

    sim_tell(sim, "%c: stops for %d ms", who, (int)(span / HF_MS));
    trouble->stopped_until = sim->net.now + span;
    sim_client_stop(client, true);
}

/* End the session of a client, and those that a lost HELLO has left. */
static void end_session(struct sim *sim, struct sim_client *client)
{
    struct hf_session *session = sim->net.world.sessions;

    sim_network_cut(client->wire, false);
    while (session != NULL) {
        struct hf_session *next = session->next;
        if (session->owner == client->wire)
            sim_network_kill(&sim->net, session);
        session = next;
    }
}

/* Without leases a session is tied to its process, and dies with it at once. */
static void die(struct sim *sim, struct sim_client *client, struct trouble *trouble,
                char who)
{
    bool politely = sim->ttl > 0 && sim_maybe(sim, 30);

    sim_tell(sim, "%c: %s", who, politely ? "closes" : "dies");
    for (size_t i = 0; i < sim->wishes; i++)
        sim->wish[sim_index(sim, client)][i].had =
            sim->wish[sim_index(sim, client)][i].leads = false;
    if (sim->query_out && sim->query.engine == &client->engine)
        sim->query_out = false;
    sim->request[sim_index(sim, client)].out = false;
    sim_client_close(client, politely);
    if (sim->ttl == 0)
        end_session(sim, client);
    trouble->dead_until = sim->net.now + sim_span(sim, 0, scale(sim));
    trouble->stopped_until = trouble->down_until = 0;
}

static void on_query(struct hf_query *query)
{
    struct sim *sim = (struct sim *)((char *)query - offsetof(struct sim, query));

    sim->query_out = false;
}

/* An operator breaks the first place of some queue. */
static void break_one(struct sim *sim, struct sim_client *client, char who)
{
    struct name     *name = &sim->name[sim_draw(sim, sim->names)];
    struct hf_queue *queue = hf_world_line(&sim->net.world, name->text, false);

    if (queue == NULL || queue->first == NULL || sim->query_out)
        return;
    bool second = sim_maybe(sim, 30) && queue->first->next != NULL;
    sim->query = (struct hf_query){
        .req = { .op = HF_BREAK,
                 .name = name->text,
                 .token = (second ? queue->first->next : queue->first)->place.token },
        .deadline = sim_client_clock(client, sim->net.now) + scale(sim),
        .on_done = on_query,
    };
    sim->query_out = true;
    sim_tell(sim, "%c breaks place %d of %s", who, (int)sim->query.req.token, name->text);
    hf_query_start(&sim->query, &client->engine);
    client->wake = 0;
}

/* An operator ends the session of a client, which must notice. */
static void forget(struct sim *sim, size_t index)
{
    struct sim_client *client = &sim->client[index];

    sim_tell(sim, "%c: its session is removed", (char)('a' + index));
    for (size_t i = 0; i < sim->wishes; i++)
        sim->wish[index][i].broken = sim->wish[index][i].job.hold.id;
    sim->trouble[index].forgotten = sim->net.world.number;
    end_session(sim, client);
    client->wake = 0;
}

static void happen(struct sim *sim, size_t index)
{
    struct sim_client *client = &sim->client[index];
    struct trouble    *trouble = &sim->trouble[index];
    char               who = (char)('a' + index);

    if (sim_maybe(sim, sim->breaks)) {
        if (sim_maybe(sim, 70))
            break_one(sim, client, who);
        else
            forget(sim, index);
        return;
    }
    switch (sim_draw(sim, sim->ttl > 0 ? 8 : 4)) {
    case 0:
        if (sim->clients + sim->deaths++ < SIM_WIRES) /* each starts again */
            die(sim, client, trouble, who);
        break;
    case 1:
    case 2:
        stop(sim, client, trouble, who);
        break;
    case 3:
        sim_tell(sim, "%c: the link is slow", who);
        trouble->slow_until = sim->net.now + sim_span(sim, 0, scale(sim));
        break;
    case 4:
    case 5:
        take_down(sim, trouble, who);
        break;
    default:
        sim_tell(sim, "%c: the connection breaks", who);
        sim_client_cut(client, sim_maybe(sim, 50));
    }
}

/* ---- All of them --------------------------------------------------------------- */

static hf_time next_of(const struct sim *sim, size_t i)
{
    const struct trouble *trouble = &sim->trouble[i];

    if (sim->client[i].store == NULL)
        return trouble->dead_until;
    if (sim->client[i].stopped)
        return trouble->stopped_until;
    return trouble->next;
}

hf_time chaos_next(const struct sim *sim)
{
    hf_time next = sim->calm ? HF_NEVER : sim->calm_at;

    for (size_t i = 0; !sim->calm && i < sim->clients; i++)
        if (next_of(sim, i) < next)
            next = next_of(sim, i);
    return next;
}

static void run_one(struct sim *sim, size_t i)
{
    struct sim_client *client = &sim->client[i];
    struct trouble    *trouble = &sim->trouble[i];

    if (client->store == NULL) {
        sim_tell(sim, "%c: starts", (char)('a' + i));
        plan_start_client(sim, client);
    } else if (client->stopped) {
        sim_tell(sim, "%c: goes on", (char)('a' + i));
        sim_client_stop(client, false);
    } else {
        happen(sim, i);
    }
    plan_next(sim, trouble);
    trouble->rough_until =
        later(sim->net.now, later(trouble->down_until, trouble->slow_until));
}

void chaos_run(struct sim *sim)
{
    if (sim->calm)
        return;
    if (sim->net.now >= sim->calm_at) {
        chaos_end(sim);
        return;
    }
    for (size_t i = 0; i < sim->clients; i++)
        if (next_of(sim, i) <= sim->net.now)
            run_one(sim, i);
}

void chaos_end(struct sim *sim)
{
    sim_tell(sim, "calm");
    sim->calm = true;
    for (size_t i = 0; i < sim->clients; i++) {
        if (sim->client[i].stopped)
            sim_client_stop(&sim->client[i], false);
        sim->trouble[i].rough_until = sim->net.now;
    }
    app_hurry(sim);
}
