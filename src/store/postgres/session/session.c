/* session.c - our session in the database: its lease, renewals, and what to do when it
 * is dead.
 *
 * Happy path: hello opens it, and a renewal every third of the ttl keeps it.  Each
 * answer moves alive_until, counted from the time of sending.
 *
 * Failures:
 *   no answer for a third of the ttl   give up the connection.  On a new one hello proves
 *                                      that the session is still there, and reclaim()
 *                                      releases places that we do not know of (a crash of
 *                                      the server undid their release)
 *   the session is dead                the link is LOST, and hello opens a new session
 *
 * A store that was opened with a session key does none of this: see bye.c.
 */
#include "store/postgres/inner.h"

#include <assert.h>

void hf_pg_session_extend(struct hf_pg *pg)
{
    assert(pg->session.sent > 0);
    pg->served.base.lease = pg->config.ttl;
    hf_served_extend(&pg->served, pg->session.sent, pg->config.ttl);
    pg->session.due = pg->session.sent + pg->config.ttl / 3;
}

bool hf_pg_session_failed(struct hf_pg *pg, const PGresult *result,
                          void (*again)(struct hf_pg *))
{
    if (result == NULL)
        return true;
    switch (hf_pg_fault(pg, result)) {
    case HF_SERVED_FINE:
        return false;
    case HF_SERVED_AGAIN:
        again(pg);
        break;
    case HF_SERVED_DOWN:
        hf_dial_break(&pg->dial, NULL);
        break;
    case HF_SERVED_DENIED:
        hf_dial_refuse(&pg->dial, HF_EDENIED, NULL);
        break;
    case HF_SERVED_OTHER:
        hf_dial_refuse(&pg->dial, HF_EUNSUPPORTED, NULL);
        break;
    default:
        hf_dial_refuse(&pg->dial, HF_ESTORE, NULL);
        break;
    }
    return true;
}

void hf_pg_session_restart(struct hf_served *served)
{
    struct hf_pg *pg = (struct hf_pg *)served;

    if (pg->remote.closing) /* we want no other session */
        return;
    pg->session.due = HF_NEVER;
    hf_dial_say(&pg->dial,
                "no longer has our session: its lease ran out, or somebody ended it");
    hf_served_start_afresh(&pg->served);
    hf_remote_lose(&pg->remote);
    assert(pg->served.places == 0);
    hf_pg_tasks_drop(pg);
    if (pg->dial.phase < HF_DIAL_GREETING)
        return;
    hf_dial_greet_again(&pg->dial);
    pg->session.again = pg->session.call.pending; /* hello after that renewal */
    if (!pg->session.again)
        hf_pg_hello(pg);
}

void hf_pg_session_broken(struct hf_pg *pg)
{
    assert(!pg->session.call.pending && pg->link.flight.count == 0);
    pg->session.due = HF_NEVER;
    pg->listen.listening = false;
    hf_served_tasks_fail(&pg->served);
}

/* ---- Renewal -------------------------------------------------------------------- */

static void on_renewed(struct hf_pg *pg, void *data, const PGresult *result)
{
    (void)data;
    if (result != NULL && pg->dial.phase == HF_DIAL_GREETING) { /* of the old session */
        pg->session.again = false;
        hf_pg_hello(pg);
        return;
    }
    if (hf_pg_session_failed(pg, result, hf_pg_renew))
        return;
    int64_t code = hf_pg_number(result, 0, 0);
    if (code == HF_SERVED_GONE) {
        hf_pg_session_restart(&pg->served);
    } else if (code != HF_SERVED_DONE) {
        hf_dial_break(&pg->dial, "has a newer connection of ours");
    } else {
        assert(pg->dial.phase == HF_DIAL_READY);
        hf_pg_session_extend(pg);
        hf_pg_expiry_renewed(pg, result);
        if (pg->served.places > 0)
            hf_pg_listen_fetch(pg);
        if (pg->session.again)
            hf_pg_renew(pg);
    }
}

void hf_pg_renew(struct hf_pg *pg)
{
    struct hf_pg_session *session = &pg->session;

    session->again = session->call.pending;
    if (session->again || pg->dial.phase != HF_DIAL_READY)
        return;
    assert(!pg->served.fresh); /* READY comes after hello */
    session->sent = hf_now();
    session->due = session->sent + pg->config.ttl / 3;
    hf_pg_begin(pg, HF_PG_RENEW);
    hf_pg_add(&pg->served, pg->served.sid);
    hf_pg_add_number(&pg->served, session->connection);
    hf_pg_send(pg, &session->call, true, on_renewed, NULL);
}

/* ---- Time ----------------------------------------------------------------------- */

/* When to give up: after too long without any answer while calls are in flight, or
 * without an answer to the renewal, which waits for the calls before it and may still
 * be queued. */
static hf_time is_late_at(const struct hf_pg *pg)
{
    const struct hf_pg_call *oldest = pg->link.flight.first;
    const struct hf_pg_call *renewal = &pg->session.call;
    hf_time wanted = pg->dial.phase == HF_DIAL_READY ? pg->session.sent : renewal->sent;

    if (oldest == NULL)
        return HF_NEVER;
    assert(oldest->sent > 0);
    hf_time since = oldest->sent > pg->link.progress ? oldest->sent : pg->link.progress;
    if (renewal->pending && wanted > 0 && wanted < since)
        since = wanted;
    return since + hf_pg_link_limit(pg);
}

void hf_pg_session_run(struct hf_pg *pg)
{
    if (pg->dial.phase < HF_DIAL_GREETING)
        return;
    if (pg->remote.now >= is_late_at(pg))
        hf_pg_link_hung(pg);
    else if (pg->dial.phase == HF_DIAL_READY && pg->remote.now >= pg->session.due &&
             !pg->session.call.pending)
        hf_pg_renew(pg);
}

hf_time hf_pg_session_wake(const struct hf_pg *pg)
{
    hf_time wake = is_late_at(pg);

    if (pg->dial.phase < HF_DIAL_GREETING)
        return HF_NEVER;
    if (pg->dial.phase == HF_DIAL_READY && !pg->session.call.pending &&
        pg->session.due < wake)
        wake = pg->session.due;
    return wake;
}
