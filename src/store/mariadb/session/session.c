/* session.c - our session in the database: its lease, renewals, and what to do when it
 * is dead.
 *
 * Happy path: hello opens it, and a renewal every third of the ttl keeps it.  Each
 * answer moves alive_until, counted from the time of sending.
 *
 * Failures:
 *   no answer for a third of the ttl   give up the connection.  On a new one hello proves
 *                                      that the session is still there
 *   the session is dead                the link is LOST, and hello opens a new session
 *
 * A store that was opened with a session key does none of this: see bye.c.
 */
#include "store/mariadb/inner.h"

#include <assert.h>

void hf_maria_session_extend(struct hf_maria *maria)
{
    assert(maria->session.sent > 0);
    maria->served.base.lease = maria->config.ttl;
    hf_served_extend(&maria->served, maria->session.sent, maria->config.ttl);
    maria->session.due = maria->session.sent + maria->config.ttl / 3;
}

bool hf_maria_session_failed(struct hf_maria *maria, const struct hf_my_reply *reply,
                             void (*again)(struct hf_maria *))
{
    if (reply == NULL)
        return true;
    switch (hf_maria_fault(maria, reply)) {
    case HF_SERVED_FINE:
        return false;
    case HF_SERVED_AGAIN:
        again(maria);
        break;
    case HF_SERVED_DOWN:
        hf_dial_break(&maria->main.dial, NULL);
        break;
    case HF_SERVED_DENIED:
        hf_dial_refuse(&maria->main.dial, HF_EDENIED, NULL);
        break;
    case HF_SERVED_OTHER:
        hf_dial_refuse(&maria->main.dial, HF_EUNSUPPORTED, NULL);
        break;
    default:
        hf_dial_refuse(&maria->main.dial, HF_ESTORE, NULL);
        break;
    }
    return true;
}

void hf_maria_session_restart(struct hf_served *served)
{
    struct hf_maria *maria = (struct hf_maria *)served;

    if (maria->remote.closing) /* we want no other session */
        return;
    maria->session.due = HF_NEVER;
    hf_dial_say(&maria->main.dial,
                "no longer has our session: its lease ran out, or somebody ended it");
    hf_maria_waker_close(maria);
    hf_served_start_afresh(&maria->served);
    hf_remote_lose(&maria->remote);
    assert(maria->served.places == 0);
    hf_maria_tasks_drop(maria);
    if (maria->main.dial.phase < HF_DIAL_GREETING)
        return;
    hf_dial_greet_again(&maria->main.dial);
    maria->session.again = maria->session.call.pending; /* hello after that renewal */
    if (!maria->session.again)
        hf_maria_hello(maria);
}

void hf_maria_session_broken(struct hf_maria *maria)
{
    assert(!maria->session.call.pending && maria->calls.flying == NULL);
    maria->session.due = HF_NEVER;
    hf_served_tasks_fail(&maria->served);
}

/* ---- Renewal -------------------------------------------------------------------- */

static void on_renewed(struct hf_maria *maria, void *data,
                       const struct hf_my_reply *reply)
{
    (void)data;
    if (reply != NULL &&
        maria->main.dial.phase == HF_DIAL_GREETING) { /* of the old session */
        maria->session.again = false;
        hf_maria_hello(maria);
        return;
    }
    if (hf_maria_session_failed(maria, reply, hf_maria_renew))
        return;
    int64_t code = hf_my_number(reply, 0, 0);
    if (code == HF_SERVED_GONE) {
        hf_maria_session_restart(&maria->served);
    } else if (code != HF_SERVED_DONE || reply->rows == 0) {
        hf_dial_break(&maria->main.dial, "has a newer connection of ours");
    } else {
        assert(maria->main.dial.phase == HF_DIAL_READY);
        hf_maria_session_extend(maria);
        hf_maria_expiry_renewed(maria, reply);
        if (maria->served.places > 0)
            hf_maria_fetch(maria);
        if (maria->session.again)
            hf_maria_renew(maria);
    }
}

void hf_maria_renew(struct hf_maria *maria)
{
    struct hf_maria_session *session = &maria->session;

    session->again = session->call.pending;
    if (session->again || maria->main.dial.phase != HF_DIAL_READY)
        return;
    assert(!maria->served.fresh); /* READY comes after hello */
    session->sent = hf_now();
    session->due = session->sent + maria->config.ttl / 3;
    hf_maria_begin_call(maria, "hf_renew");
    hf_maria_add(&maria->served, maria->served.sid);
    hf_maria_add_number(&maria->served, session->connection);
    hf_maria_send(maria, &session->call, true, on_renewed, NULL);
}

/* ---- Time ----------------------------------------------------------------------- */

/* When to give up: after too long without an answer to the call in flight, or to the
 * renewal, which may still be queued. */
static hf_time is_late_at(const struct hf_maria *maria)
{
    const struct hf_maria_call *flying = maria->calls.flying;
    hf_time                     wanted =
        maria->main.dial.phase == HF_DIAL_READY ? maria->session.sent : HF_NEVER;

    if (flying == NULL)
        return HF_NEVER;
    hf_time since = flying->sent;
    if (maria->session.call.pending && wanted < since)
        since = wanted;
    return since + hf_maria_limit(maria);
}

void hf_maria_session_run(struct hf_maria *maria)
{
    if (maria->main.dial.phase < HF_DIAL_GREETING)
        return;
    if (maria->remote.now >= is_late_at(maria))
        hf_maria_hung(maria);
    else if (maria->main.dial.phase == HF_DIAL_READY &&
             maria->remote.now >= maria->session.due && !maria->session.call.pending)
        hf_maria_renew(maria);
}

hf_time hf_maria_session_wake(const struct hf_maria *maria)
{
    hf_time wake = is_late_at(maria);

    if (maria->main.dial.phase < HF_DIAL_GREETING)
        return HF_NEVER;
    if (maria->main.dial.phase == HF_DIAL_READY && !maria->session.call.pending &&
        maria->session.due < wake)
        wake = maria->session.due;
    return wake;
}
