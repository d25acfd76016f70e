/* far_link.c - see far.h: the session, and its lease.
 *
 * Happy path: HELLO opens a session, a RENEW a third of the ttl later keeps it,
 * and so on.  Each answer moves alive_until, counted from the sending.
 *
 * Failures: no answer for another third, or a broken wire: the link is down and
 * HELLO is sent again, with pauses, for the same session.  The world does not
 * know the session any more: the link is lost, and HELLO asks for a new one.
 */
#include "lib/far.h"

#include "core/lease.h"
#include "holdfast.h"

#include <assert.h>
#include <stdio.h>

/* Without a lease only a broken wire can end a connection. */
static hf_time silence_limit(const struct far *far)
{
    return far->ttl > 0 ? far->ttl / 3 : HF_NEVER;
}

static hf_time later(hf_time now, hf_time delay)
{
    return delay == HF_NEVER ? HF_NEVER : now + delay;
}

static void set_link(struct far *far, enum hf_link link, const char *why)
{
    if (far->base.link != link)
        snprintf(far->base.errmsg, sizeof far->base.errmsg, "%s", why);
    hf_store_set_link(&far->base, link);
}

static void beat(struct far *far, enum net_kind kind, hf_time now)
{
    assert(far->beat == 0); /* one at a time: its answer moves the deadline */
    far->beat = ++far->serials;
    far->sent = now;
    far->due = later(now, silence_limit(far));
    net_send(far->wire, &(struct net_letter){ .kind = kind,
                                              .session = far->session,
                                              .connection = far->connection,
                                              .serial = far->beat,
                                              .ttl = far->ttl });
}

static void connect(struct far *far, hf_time now)
{
    assert(far->base.link != HF_LINK_UP);
    far->connection++;
    far->wire->broken = false;
    beat(far, NET_HELLO, now);
}

/* The wire is dead, or does not answer: what is in flight fails, and may or may
 * not have been carried out. */
static void cut(struct far *far, hf_time now)
{
    far->beat = 0;
    far->wire->broken = true;
    far->due = now + hf_retry_next(&far->retry);
    set_link(far, HF_LINK_DOWN, "the connection broke");
    far_fail(far, false);
}

/* Our tickets are gone with the session: nothing asked for makes sense now. */
void far_lose(struct far *far, hf_time now)
{
    far->beat = 0;
    far->session = 0;
    if (far->ttl > 0)
        far->base.alive_until = 0;
    set_link(far, HF_LINK_LOST, "the session was ended");
    far_fail(far, true);
    connect(far, now);
}

void far_link_run(struct far *far, hf_time now)
{
    bool silent = far->beat != 0 && now >= far->due;

    if (far->beat != 0 || far->base.link == HF_LINK_UP)
        if (silent || far->wire->broken)
            cut(far, now);
    if (far->beat != 0 || now < far->due)
        return;
    if (far->base.link == HF_LINK_UP)
        beat(far, NET_RENEW, now);
    else
        connect(far, now);
}

static void confirmed(struct far *far, const struct net_letter *answer)
{
    hf_time sent = far->sent;

    assert(answer->serial == far->beat);
    far->beat = 0;
    far->due = later(sent, silence_limit(far));
    if (far->ttl > 0)
        far->base.alive_until = hf_lease_deadline(sent, far->ttl, 0);
    if (far->base.link == HF_LINK_UP)
        return;
    assert(answer->session != 0);
    far->session = answer->session;
    hf_retry_reset(&far->retry);
    set_link(far, HF_LINK_UP, "");
}

bool far_link_take(struct far *far, const struct net_letter *answer, hf_time now)
{
    bool ours = far->beat != 0 && answer->serial == far->beat;

    if (ours && answer->gone)
        far_lose(far, now);
    else if (ours)
        confirmed(far, answer);
    return ours;
}
