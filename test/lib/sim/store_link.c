/* store_link.c - the session of the simulated store, and its lease; see store.h.
 *
 * Happy path: HELLO opens a session, a RENEW a third of the ttl later keeps it,
 * and so on.  Each answer moves alive_until, counted from the sending.
 *
 * Failures: no answer for another third, or a broken wire: the link is down and
 * HELLO is sent again, with pauses, for the same session.  If that has ended, the link is
 * lost, and HELLO asks for a new one.
 */
#include "lib/sim/store.h"

#include "core/lease.h"
#include "holdfast.h"

#include <assert.h>
#include <stdio.h>

/* Without a lease only a broken wire can end a connection. */
static hf_time silence_limit(const struct sim_store *sim)
{
    return sim->ttl > 0 ? sim->ttl / 3 : HF_NEVER;
}

static hf_time later(hf_time now, hf_time delay)
{
    return delay == HF_NEVER ? HF_NEVER : now + delay;
}

static void set_link(struct sim_store *sim, enum hf_link link, const char *why)
{
    if (sim->base.link != link)
        snprintf(sim->base.errmsg, sizeof sim->base.errmsg, "%s", why);
    hf_store_set_link(&sim->base, link);
}

static void beat(struct sim_store *sim, enum sim_message_kind kind, hf_time now)
{
    assert(sim->beat == 0); /* one at a time: its answer moves the deadline */
    sim->beat = ++sim->serials;
    sim->sent = now;
    sim->due = later(now, silence_limit(sim));
    sim_network_send(sim->wire, &(struct sim_message){ .kind = kind,
                                                       .session = sim->session,
                                                       .connection = sim->connection,
                                                       .serial = sim->beat,
                                                       .ttl = sim->ttl });
}

static void connect(struct sim_store *sim, hf_time now)
{
    assert(sim->base.link != HF_LINK_UP);
    sim->connection++;
    sim->wire->broken = false;
    beat(sim, SIM_HELLO, now);
}

/* The wire is dead, or does not answer.  Requests in flight fail, and may have been
 * carried out or not. */
static void cut(struct sim_store *sim, hf_time now)
{
    sim->beat = 0;
    sim->wire->broken = true;
    sim->due = now + hf_retry_next(&sim->retry);
    set_link(sim, HF_LINK_DOWN, "the connection broke");
    sim_store_fail(sim, false);
}

/* Our places ended with the session, so no request makes sense now. */
void sim_store_lose(struct sim_store *sim, hf_time now)
{
    sim->beat = 0;
    sim->session = 0;
    if (sim->ttl > 0)
        sim->base.alive_until = 0;
    set_link(sim, HF_LINK_LOST, "the session was ended");
    sim_store_fail(sim, true);
    connect(sim, now);
}

void sim_store_link_run(struct sim_store *sim, hf_time now)
{
    bool silent = sim->beat != 0 && now >= sim->due;

    if (sim->beat != 0 || sim->base.link == HF_LINK_UP)
        if (silent || sim->wire->broken)
            cut(sim, now);
    if (sim->beat != 0 || now < sim->due)
        return;
    if (sim->base.link == HF_LINK_UP)
        beat(sim, SIM_RENEW, now);
    else
        connect(sim, now);
}

static void confirmed(struct sim_store *sim, const struct sim_message *answer)
{
    hf_time sent = sim->sent;

    assert(answer->serial == sim->beat);
    sim->beat = 0;
    sim->due = later(sent, silence_limit(sim));
    if (sim->ttl > 0)
        sim->base.alive_until = hf_lease_deadline(sent, sim->ttl, 0);
    if (sim->base.link == HF_LINK_UP)
        return;
    assert(answer->session != 0);
    sim->session = answer->session;
    hf_retry_reset(&sim->retry);
    set_link(sim, HF_LINK_UP, "");
}

bool sim_store_link_take(struct sim_store *sim, const struct sim_message *answer,
                         hf_time now)
{
    bool ours = sim->beat != 0 && answer->serial == sim->beat;

    if (ours && answer->gone)
        sim_store_lose(sim, now);
    else if (ours)
        confirmed(sim, answer);
    return ours;
}
