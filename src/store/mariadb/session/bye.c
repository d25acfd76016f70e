/* bye.c - end a session: our own at close, or the one that a session key belongs to.
 *
 * A session key needs no hello.  Bye locks the session's row, so it waits for calls of
 * the owner that are in progress on the server; later calls find no session.  Taking
 * the session over with hello would do no more, and would prolong the lease if bye then
 * failed.
 */
#include "store/mariadb/inner.h"

#include <assert.h>
#include <poll.h>
#include <string.h>

/* How long close waits for each answer, if we have places; and in all. */
#define BYE_PATIENCE (100 * HF_MS)
#define BYE_MOST     (2 * HF_SEC)

static void send_bye(struct hf_maria *maria, struct hf_maria_call *call,
                     hf_maria_on_reply *on_reply, void *data)
{
    hf_maria_begin_call(maria, "hf_bye");
    hf_maria_add(&maria->served, maria->served.sid);
    if (maria->served.only_ends)
        hf_maria_add(&maria->served, NULL); /* on any connection */
    else
        hf_maria_add_number(&maria->served, maria->session.connection);
    hf_maria_send(maria, call, true, on_reply, data);
}

/* ---- The session of a session key ------------------------------------------------- */

/* Without a database or without our tables there is no such session.  Tables without
 * this procedure are of another version, and may contain the session. */
static void on_missing(struct hf_maria *maria, const struct hf_my_reply *reply)
{
    if (reply->error == 1049 || reply->error == 1305)
        hf_served_ended(&maria->served);
    else
        hf_dial_refuse(&maria->main.dial, HF_EUNSUPPORTED, NULL);
}

/* Whatever the code is, the session does not exist now. */
static void on_session_ended(struct hf_maria *maria, void *data,
                             const struct hf_my_reply *reply)
{
    (void)data;
    if (reply != NULL && hf_maria_fault(maria, reply) == HF_SERVED_MISSING)
        on_missing(maria, reply);
    else if (!hf_maria_session_failed(maria, reply, hf_maria_end_session))
        hf_served_ended(&maria->served);
}

void hf_maria_end_session(struct hf_maria *maria)
{
    assert(maria->main.dial.phase == HF_DIAL_GREETING && maria->served.only_ends);
    send_bye(maria, &maria->session.call, on_session_ended, NULL);
}

/* ---- Our own session -------------------------------------------------------------- */

static void on_bye(struct hf_maria *maria, void *data, const struct hf_my_reply *reply)
{
    (void)maria;
    (void)reply;
    *(bool *)data = true;
}

/* Bye is sent behind the call in flight.  While that is answered, we wait. */
static hf_time bye_deadline(const struct hf_maria *maria, hf_time start, hf_time patience)
{
    hf_time since = maria->calls.progress > start ? maria->calls.progress : start;

    return hf_sooner(since + patience, start + BYE_MOST);
}

static void send_or_wait(struct hf_maria *maria, hf_time end)
{
    struct pollfd poll_fd = { .fd = maria->served.base.fd, .events = POLLIN };

    hf_maria_calls_run(maria);
    hf_dial_flush(&maria->main.dial);
    poll(&poll_fd, 1, hf_poll_ms(hf_now(), end));
    maria->remote.now = hf_now();
    hf_dial_run(&maria->main.dial, true);
}

/* If the session stayed behind, waiters would have to wait for its ttl. */
void hf_maria_bye(struct hf_maria *maria)
{
    struct hf_maria_call call = { .last = true };
    bool                 done = false;
    hf_time              start = hf_now(), end;
    hf_time patience = maria->served.places > 0 ? BYE_PATIENCE : BYE_PATIENCE / 5;

    assert(maria->remote.closing);
    if (maria->main.dial.phase == HF_DIAL_READY) {
        send_bye(maria, &call, on_bye, &done);
        while (!done && hf_now() < (end = bye_deadline(maria, start, patience)))
            send_or_wait(maria, end);
    }
    hf_my_conn_finish(&maria->main);
    assert(!call.pending); /* it is on the stack */
    hf_my_query_finish(&call.query);
}
