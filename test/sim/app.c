/* app.c - the applications: each wants a lock, holds it for a while, releases. */
#include "sim.h"

#include "holdfast.h"

static const char *const words[] = { "idle", "entering", "waiting", "looking",
                                     "held", "leaving",  "lost" };

static hf_time scale(const struct sim *sim)
{
    return sim->ttl > 0 ? sim->ttl : HF_SEC;
}

/* Mostly short, so that much happens; at times longer than a lease. */
static hf_time draw_while(struct sim *sim)
{
    hf_time most = sim_maybe(sim, 15) ? scale(sim) * 3 / 2 : scale(sim) / 8;

    return sim_span(sim, 0, sim->calm ? 5 * HF_MS : most);
}

static void want(struct sim *sim, struct wish *wish)
{
    hf_time now = host_clock(wish->host, sim->net.now);
    bool    once = sim_maybe(sim, 20);
    bool    ever = sim_maybe(sim, 50);
    hf_time limit = ever ? HF_NEVER : now + draw_while(sim);

    /* A try has a limit too, for stores that do not answer. */
    if (once && ever)
        limit = now + scale(sim);
    wish->rounds--;
    wish->waits_for_ever = limit == HF_NEVER;
    wish->act = sim_maybe(sim, 20) ? sim->net.now + draw_while(sim) : HF_NEVER;
    sim_tell(sim, "%s wants %s%s", wish->label, wish->name->text,
             once                   ? ", once"
             : wish->waits_for_ever ? ""
                                    : ", for a while");
    hf_job_want(&wish->job, once, limit);
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

hf_time app_next(const struct sim *sim, const struct host *host)
{
    hf_time next = HF_NEVER;

    if (host->store == NULL || host->stopped)
        return HF_NEVER;
    for (size_t i = 0; i < sim->wishes; i++) {
        const struct wish *wish = &sim->wish[sim_index(sim, host)][i];
        if (wish->act < next)
            next = wish->act;
    }
    return next;
}

void app_run(struct sim *sim, struct host *host)
{
    for (size_t i = 0; i < sim->wishes; i++) {
        struct wish *wish = &sim->wish[sim_index(sim, host)][i];
        if (wish->act > sim->net.now)
            continue;
        act(sim, wish);
        host->wake = 0;
    }
}

/* Called by the engine after every change of state. */
void app_change(struct hf_job *job)
{
    struct wish       *wish = (struct wish *)job;
    struct sim        *sim = wish->sim;
    enum hf_hold_state was = wish->state, is = job->hold.state;

    static const unsigned allowed[] = {
        [HF_HOLD_IDLE] = 1 << HF_HOLD_ENTERING,
        [HF_HOLD_ENTERING] = 1 << HF_HOLD_WAITING | 1 << HF_HOLD_HELD |
                             1 << HF_HOLD_LEAVING | 1 << HF_HOLD_IDLE,
        [HF_HOLD_WAITING] = 1 << HF_HOLD_LOOKING | 1 << HF_HOLD_ENTERING |
                            1 << HF_HOLD_LEAVING | 1 << HF_HOLD_IDLE,
        [HF_HOLD_LOOKING] = 1 << HF_HOLD_WAITING | 1 << HF_HOLD_HELD |
                            1 << HF_HOLD_ENTERING | 1 << HF_HOLD_LEAVING,
        [HF_HOLD_HELD] = 1 << HF_HOLD_LEAVING | 1 << HF_HOLD_LOST,
        [HF_HOLD_LEAVING] = 1 << HF_HOLD_IDLE,
        [HF_HOLD_LOST] = 1 << HF_HOLD_LEAVING | 1 << HF_HOLD_IDLE,
    };

    if (is == was) /* only the store has let go of it */
        return;
    sim_tell(sim, "%s %s%s%s", wish->label, words[is], is == HF_HOLD_IDLE ? ": " : "",
             is == HF_HOLD_IDLE ? hf_strerror(job->hold.why) : "");
    if (!(allowed[was] & 1u << is))
        sim_fail(sim, "%s goes from %s to %s", wish->label, words[was], words[is]);
    if (job->hold.once && is == HF_HOLD_WAITING)
        sim_fail(sim, "%s waits, although it only tries", wish->label);
    wish->state = is;
    if (is == HF_HOLD_HELD) {
        check_granted(wish);
        wish->act = sim->net.now + draw_while(sim);
    } else if (is == HF_HOLD_LOST) {
        if (sim->peaceful)
            sim_fail(sim, "%s loses %s in peace", wish->label, wish->name->text);
        wish->act = sim->net.now + sim_span(sim, 0, 20 * HF_MS);
    } else if (is == HF_HOLD_IDLE) {
        check_over(wish);
        wish->act = sim->net.now + draw_while(sim);
    }
}

void app_hurry(struct sim *sim)
{
    for (size_t i = 0; i < sim->hosts; i++)
        for (size_t j = 0; j < sim->wishes; j++) {
            struct wish *wish = &sim->wish[i][j];
            bool rests = wish->state == HF_HOLD_HELD || wish->state == HF_HOLD_LOST;
            if (rests && wish->act > sim->net.now + 5 * HF_MS)
                wish->act = sim->net.now + 5 * HF_MS;
        }
}

bool app_all_over(const struct sim *sim)
{
    for (size_t i = 0; i < sim->hosts; i++)
        for (size_t j = 0; sim->host[i].store != NULL && j < sim->wishes; j++)
            if (!hf_job_quiet(&sim->wish[i][j].job))
                return false;
    return true;
}
