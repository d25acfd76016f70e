/* chaos.c - what goes wrong: letters lost and late, links down, pauses, deaths. */
#include "sim.h"

static hf_time later(hf_time a, hf_time b)
{
    return a > b ? a : b;
}

static hf_time scale(const struct sim *sim)
{
    return sim->ttl > 0 ? sim->ttl : HF_SEC;
}

/* Which host has this wire now?  HOSTS: none, it was an earlier one's. */
static size_t owner(const struct sim *sim, const struct net_wire *wire)
{
    size_t i = 0;

    while (i < sim->hosts && (sim->host[i].store == NULL || sim->host[i].wire != wire))
        i++;
    return i < sim->hosts ? i : HOSTS;
}

hf_time chaos_travel(struct net *net, struct net_wire *wire,
                     const struct net_letter *letter)
{
    struct sim           *sim = net->data;
    size_t                i = owner(sim, wire);
    const struct trouble *trouble = i < HOSTS ? &sim->trouble[i] : NULL;
    hf_time               delay = sim_span(sim, HF_MS / 10, 2 * HF_MS);

    if (sim->calm || sim->peaceful)
        return delay;
    if (trouble != NULL && net->now < trouble->down_until &&
        (letter->to_world ? trouble->to_world : trouble->to_client))
        return NET_LOST;
    if (sim->ttl > 0 && sim->lossy > 0 && sim_draw(sim, 1000) < sim->lossy) {
        sim_tell(sim, "a letter %s %c is lost", letter->to_world ? "from" : "to",
                 i < HOSTS ? (char)('a' + i) : '?');
        return NET_LOST;
    }
    if (trouble != NULL && net->now < trouble->slow_until)
        delay += sim_span(sim, 0, scale(sim) / 2);
    else if (sim_maybe(sim, sim->jumpy))
        delay += sim_span(sim, 0, scale(sim) / 6);
    return delay;
}

/* ---- Troubles of one host ----------------------------------------------------------- */

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
             which == 0   ? ", answers only"
             : which == 1 ? ", requests only"
                          : "");
}

static void stop(struct sim *sim, struct host *host, struct trouble *trouble, char who)
{
    hf_time span = sim_span(sim, 0, scale(sim) * (sim_maybe(sim, 40) ? 2 : 1) / 2);

    sim_tell(sim, "%c: stops for %d ms", who, (int)(span / HF_MS));
    trouble->stopped_until = sim->net.now + span;
    host_stop(host, true);
}

/* The world ends the session of a host, and those that a lost HELLO left over. */
static void end_session(struct sim *sim, struct host *host)
{
    struct hf_session *session = sim->net.world.sessions;

    net_cut(host->wire, false);
    while (session != NULL) {
        struct hf_session *next = session->next;
        if (session->owner == host->wire)
            net_kill(&sim->net, session);
        session = next;
    }
}

/* Without leases a session is tied to its process, and dies with it at once. */
static void die(struct sim *sim, struct host *host, struct trouble *trouble, char who)
{
    bool politely = sim->ttl > 0 && sim_maybe(sim, 30);

    sim_tell(sim, "%c: %s", who, politely ? "closes" : "dies");
    for (size_t i = 0; i < sim->wishes; i++)
        sim->wish[sim_index(sim, host)][i].had =
            sim->wish[sim_index(sim, host)][i].leads = false;
    if (sim->errand_out && sim->errand.engine == &host->engine)
        sim->errand_out = false;
    sim->request[sim_index(sim, host)].out = false;
    host_close(host, politely);
    if (sim->ttl == 0)
        end_session(sim, host);
    trouble->dead_until = sim->net.now + sim_span(sim, 0, scale(sim));
    trouble->stopped_until = trouble->down_until = 0;
}

static void on_errand(struct hf_errand *errand)
{
    struct sim *sim = (struct sim *)((char *)errand - offsetof(struct sim, errand));

    sim->errand_out = false;
}

/* An operator takes away the place of whoever is first in some line. */
static void break_one(struct sim *sim, struct host *host, char who)
{
    struct name     *name = &sim->name[sim_draw(sim, sim->names)];
    struct hf_queue *queue = hf_world_line(&sim->net.world, name->text, false);

    if (queue == NULL || queue->first == NULL || sim->errand_out)
        return;
    bool second = sim_maybe(sim, 30) && queue->first->next != NULL;
    sim->errand = (struct hf_errand){
        .req = { .op = HF_BREAK,
                 .name = name->text,
                 .token = (second ? queue->first->next : queue->first)->ticket.token },
        .deadline = host_clock(host, sim->net.now) + scale(sim),
        .on_done = on_errand,
    };
    sim->errand_out = true;
    sim_tell(sim, "%c breaks ticket %d of %s", who, (int)sim->errand.req.token,
             name->text);
    hf_errand_start(&sim->errand, &host->engine);
    host->wake = 0;
}

/* An operator wipes out all that a host has: it must notice, and say so. */
static void forget(struct sim *sim, size_t index)
{
    struct host *host = &sim->host[index];

    sim_tell(sim, "%c: its session is removed", (char)('a' + index));
    for (size_t i = 0; i < sim->wishes; i++)
        sim->wish[index][i].broken = sim->wish[index][i].job.hold.id;
    sim->trouble[index].forgotten = sim->net.world.number;
    end_session(sim, host);
    host->wake = 0;
}

static void happen(struct sim *sim, size_t index)
{
    struct host    *host = &sim->host[index];
    struct trouble *trouble = &sim->trouble[index];
    char            who = (char)('a' + index);

    if (sim_maybe(sim, sim->breaks)) {
        if (sim_maybe(sim, 70))
            break_one(sim, host, who);
        else
            forget(sim, index);
        return;
    }
    switch (sim_draw(sim, sim->ttl > 0 ? 8 : 4)) {
    case 0:
        if (sim->hosts + sim->deaths++ < NET_WIRES) /* each starts again */
            die(sim, host, trouble, who);
        break;
    case 1:
    case 2:
        stop(sim, host, trouble, who);
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
        host_cut(host, sim_maybe(sim, 50));
    }
}

/* ---- All of them -------------------------------------------------------------------- */

static hf_time next_of(const struct sim *sim, size_t i)
{
    const struct trouble *trouble = &sim->trouble[i];

    if (sim->host[i].store == NULL)
        return trouble->dead_until;
    if (sim->host[i].stopped)
        return trouble->stopped_until;
    return trouble->next;
}

hf_time chaos_next(const struct sim *sim)
{
    hf_time next = sim->calm ? HF_NEVER : sim->calm_at;

    for (size_t i = 0; !sim->calm && i < sim->hosts; i++)
        if (next_of(sim, i) < next)
            next = next_of(sim, i);
    return next;
}

static void run_one(struct sim *sim, size_t i)
{
    struct host    *host = &sim->host[i];
    struct trouble *trouble = &sim->trouble[i];

    if (host->store == NULL) {
        sim_tell(sim, "%c: starts", (char)('a' + i));
        plan_start_host(sim, host);
    } else if (host->stopped) {
        sim_tell(sim, "%c: goes on", (char)('a' + i));
        host_stop(host, false);
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
    for (size_t i = 0; i < sim->hosts; i++)
        if (next_of(sim, i) <= sim->net.now)
            run_one(sim, i);
}

void chaos_end(struct sim *sim)
{
    sim_tell(sim, "calm");
    sim->calm = true;
    for (size_t i = 0; i < sim->hosts; i++) {
        if (sim->host[i].stopped)
            host_stop(&sim->host[i], false);
        sim->trouble[i].rough_until = sim->net.now;
    }
    app_hurry(sim);
}
