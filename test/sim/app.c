/* app.c - the applications: each acquires a lock, holds it for a while, releases it.
 *
 * Some downgrade after a while; some are candidates of an election, and queue again by
 * themselves; some waiters ask the holder to release.
 */
#include "sim.h"

#include "holdfast.h"

#include <stdio.h>
#include <string.h>

static const char *const words[] = { "idle", "entering", "waiting", "outside",
                                     "held", "leaving",  "lost" };

static hf_time scale(const struct sim *sim)
{
    return sim->ttl > 0 ? sim->ttl : HF_SEC;
}

/* Mostly short, so that much happens; sometimes longer than a lease. */
hf_time app_while(struct sim *sim)
{
    hf_time most = sim_maybe(sim, 15) ? scale(sim) * 3 / 2 : scale(sim) / 8;

    return sim_span(sim, 0, sim->calm ? 5 * HF_MS : most);
}

static void want(struct sim *sim, struct wish *wish)
{
    hf_time now = sim_client_clock(wish->client, sim->net.now);
    bool    once = !wish->candidate && sim_maybe(sim, 20);
    bool    ever = wish->candidate || sim_maybe(sim, 50);
    hf_time limit = ever ? HF_NEVER : now + app_while(sim);

    /* A try has a limit too, for stores that do not answer. */
    if (once && ever)
        limit = now + scale(sim);
    wish->rounds--;
    wish->waits_for_ever = limit == HF_NEVER;
    wish->act = sim_maybe(sim, 20) ? sim->net.now + app_while(sim) : HF_NEVER;
    sim_tell(sim, "%s wants %s%s", wish->label, wish->name->text,
             once                   ? ", without waiting"
             : wish->waits_for_ever ? ""
                                    : ", for a while");
    hf_job_want(&wish->job, once, limit);
}

static void downgrade(struct sim *sim, struct wish *wish)
{
    struct hf_shape shape = *hf_hold_shape(&wish->job.hold);

    if (shape.weight == HF_ALL)
        shape.weight = 1;
    else
        shape.weight = 1 + (uint32_t)sim_draw(sim, shape.weight);
    sim_tell(sim, "%s downgrades to weight %u of %s", wish->label, shape.weight,
             wish->name->text);
    wish->downgrades--;
    sim->seen[SEEN_DOWNGRADE]++;
    hf_job_downgrade(&wish->job, &shape);
    /* Sometimes again before the store has answered. */
    wish->act = sim->net.now + (sim_maybe(sim, 30) ? HF_MS : app_while(sim));
}

static void act(struct sim *sim, struct wish *wish)
{
    wish->act = HF_NEVER;
    switch (wish->state) {
    case HF_HOLD_IDLE:
        if (!hf_job_quiet(&wish->job))
            wish->act = sim->net.now + HF_MS;
        else if (wish->rounds > 0 && !sim->calm)
            want(sim, wish);
        break;
    case HF_HOLD_HELD:
        if (wish->downgrades > 0) {
            downgrade(sim, wish);
            break;
        } /* fall through */
    case HF_HOLD_LOST:
        sim_tell(sim, "%s releases %s", wish->label, wish->name->text);
        hf_job_drop(&wish->job, 0);
        break;
    case HF_HOLD_LEAVING:
        break;
    default:
        sim_tell(sim, "%s cancels", wish->label);
        hf_job_drop(&wish->job, HF_ECANCELED);
    }
}

/* ---- Asking the holder --------------------------------------------------------- */

static void on_asked(struct hf_query *query)
{
    ((struct request *)query)->out = false;
}

static void ask(struct sim *sim, struct sim_client *client, struct request *request)
{
    struct hf_queue *queue = hf_world_line(&sim->net.world, request->name->text, false);

    request->when = HF_NEVER;
    if (queue == NULL || queue->first == NULL || request->out)
        return;
    snprintf(request->why, sizeof request->why, "reason %u", ++sim->reasons);
    request->query = (struct hf_query){
        .req = { .op = HF_ASK,
                 .name = request->name->text,
                 .note = request->why,
                 .token = queue->first->place.token },
        .deadline = sim_client_clock(client, sim->net.now) + scale(sim),
        .on_done = on_asked,
    };
    request->out = true;
    sim_tell(sim, "%c asks for place %d of %s", (char)('a' + sim_index(sim, client)),
             (int)request->query.req.token, request->name->text);
    hf_query_start(&request->query, &client->engine);
}

/* ---- One client ---------------------------------------------------------------- */

hf_time app_next(const struct sim *sim, const struct sim_client *client)
{
    size_t  index = sim_index(sim, client);
    hf_time next = group_next(&sim->group[index]);

    if (client->store == NULL || client->stopped)
        return HF_NEVER;
    if (sim->request[index].when < next)
        next = sim->request[index].when;
    for (size_t i = 0; i < sim->wishes; i++)
        if (sim->wish[index][i].act < next)
            next = sim->wish[index][i].act;
    return next;
}

void app_run(struct sim *sim, struct sim_client *client)
{
    size_t index = sim_index(sim, client);

    client->wake = 0;
    for (size_t i = 0; i < sim->wishes; i++)
        if (sim->wish[index][i].act <= sim->net.now)
            act(sim, &sim->wish[index][i]);
    if (group_next(&sim->group[index]) <= sim->net.now)
        group_run(sim, &sim->group[index]);
    if (sim->request[index].when <= sim->net.now)
        ask(sim, client, &sim->request[index]);
}

/* ---- Notifications ------------------------------------------------------------- */

/* Only the newest ASK must be heard of: an older one may be overtaken. */
static void hear(struct wish *wish)
{
    const struct hf_world_place *place = world_place(wish->client, wish->job.hold.id);

    if (wish->asked_at == HF_NEVER || place == NULL || place->asked == NULL ||
        strcmp(place->asked, wish->job.ask) != 0)
        return;
    wish->asked_at = HF_NEVER;
    wish->sim->seen[SEEN_ASKED]++;
}

static void on_held(struct sim *sim, struct wish *wish)
{
    check_granted(wish);
    if (wish->candidate)
        check_elected(wish);
    wish->leads = wish->candidate;
    bool heavy = wish->job.hold.shape.weight > 1;
    wish->downgrades = heavy && sim_maybe(sim, 40) ? 1 + (unsigned)sim_draw(sim, 2) : 0;
    wish->act = sim->net.now + app_while(sim);
}

static void on_idle(struct sim *sim, struct wish *wish)
{
    check_over(wish);
    wish->act = sim->net.now + app_while(sim);
    if (wish->candidate &&
        wish->job.hold.why == HF_ELOST) { /* deposed: queue again at once */
        wish->rounds++;
        wish->act = sim->net.now;
    }
}

static void on_waiting(struct sim *sim, struct wish *wish)
{
    struct request *request = &sim->request[sim_index(sim, wish->client)];

    sim->seen[SEEN_PLACE] += wish->job.follow;
    if (request->when < HF_NEVER || !sim_maybe(sim, 10))
        return;
    request->name = wish->name;
    request->when = sim->net.now + sim_span(sim, 0, 5 * HF_MS);
}

/* Called by the engine after every change of state. */
void app_change(struct hf_job *job)
{
    struct wish       *wish = (struct wish *)job;
    struct sim        *sim = wish->sim;
    enum hf_hold_state was = wish->state, is = job->hold.state;

    static const unsigned allowed[] = {
        [HF_HOLD_IDLE] = 1 << HF_HOLD_ENTERING,
        [HF_HOLD_ENTERING] = 1 << HF_HOLD_WAITING | 1 << HF_HOLD_OUTSIDE |
                             1 << HF_HOLD_HELD | 1 << HF_HOLD_LEAVING | 1 << HF_HOLD_IDLE,
        [HF_HOLD_WAITING] =
            1 << HF_HOLD_HELD | 1 << HF_HOLD_ENTERING | 1 << HF_HOLD_LEAVING,
        [HF_HOLD_OUTSIDE] =
            1 << HF_HOLD_ENTERING | 1 << HF_HOLD_LEAVING | 1 << HF_HOLD_IDLE,
        [HF_HOLD_HELD] = 1 << HF_HOLD_LEAVING | 1 << HF_HOLD_LOST,
        [HF_HOLD_LEAVING] = 1 << HF_HOLD_IDLE,
        [HF_HOLD_LOST] = 1 << HF_HOLD_LEAVING | 1 << HF_HOLD_IDLE,
    };

    hear(wish);
    if (is == was) /* only its place or its weight changed */
        return;
    sim_tell(sim, "%s %s%s%s", wish->label, words[is], is == HF_HOLD_IDLE ? ": " : "",
             is == HF_HOLD_IDLE ? hf_strerror(job->hold.why) : "");
    if (!(allowed[was] & 1u << is))
        sim_fail(sim, "%s goes from %s to %s", wish->label, words[was], words[is]);
    if (job->hold.once && (is == HF_HOLD_WAITING || is == HF_HOLD_OUTSIDE))
        sim_fail(sim, "%s waits, although it only tries", wish->label);
    wish->state = is;
    wish->leads = false; /* deposed, if it led: before anybody else is elected */
    if (is == HF_HOLD_HELD) {
        on_held(sim, wish);
    } else if (is == HF_HOLD_LOST) {
        if (sim->peaceful)
            sim_fail(sim, "%s loses %s without any fault", wish->label, wish->name->text);
        wish->act = sim->net.now + sim_span(sim, 0, 20 * HF_MS);
    } else if (is == HF_HOLD_IDLE) {
        on_idle(sim, wish);
    } else if (is == HF_HOLD_WAITING) {
        on_waiting(sim, wish);
    }
    if (wish->group != NULL) { /* the group decides what comes next */
        wish->act = HF_NEVER;
        wish->group->poked = true;
    }
}

void app_hurry(struct sim *sim)
{
    for (size_t i = 0; i < sim->clients; i++) {
        struct group *group = &sim->group[i];
        if (group->state == GROUP_HELD && group->act > sim->net.now + 5 * HF_MS)
            group->act = sim->net.now + 5 * HF_MS;
        for (size_t j = 0; j < sim->wishes; j++) {
            struct wish *wish = &sim->wish[i][j];
            bool rests = wish->state == HF_HOLD_HELD || wish->state == HF_HOLD_LOST;
            if (rests && wish->group == NULL && wish->act > sim->net.now + 5 * HF_MS)
                wish->act = sim->net.now + 5 * HF_MS;
        }
    }
}

bool app_all_over(const struct sim *sim)
{
    for (size_t i = 0; i < sim->clients; i++) {
        if (sim->client[i].store == NULL)
            continue;
        if (!group_over(&sim->group[i]) || sim->request[i].out)
            return false;
        for (size_t j = 0; j < sim->wishes; j++)
            if (!hf_job_quiet(&sim->wish[i][j].job))
                return false;
    }
    return true;
}
