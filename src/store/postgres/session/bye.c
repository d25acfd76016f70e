/* bye.c - end a session: our own at close, or the one that a session key belongs to.
 *
 * A session key needs no hello.  Bye locks the session's row, so it waits for calls of
 * the owner that are in progress on the server; later calls find no session.  Taking
 * the session over with hello would do no more, and would prolong the lease if bye then
 * failed.
 */
#include "store/postgres/inner.h"

#include <assert.h>
#include <poll.h>
#include <string.h>

/* How long close waits for each answer, if we have places; and in all. */
#define BYE_PATIENCE (100 * HF_MS)
#define BYE_MOST     (2 * HF_SEC)

static void send_bye(struct hf_pg *pg, struct hf_pg_call *call,
                     hf_pg_on_result *on_result, void *data)
{
    hf_pg_begin(pg, HF_PG_BYE);
    hf_pg_add(&pg->served, pg->served.sid);
    if (pg->served.only_ends)
        hf_pg_add(&pg->served, NULL); /* on any connection */
    else
        hf_pg_add_number(&pg->served, pg->session.connection);
    hf_pg_send(pg, call, true, on_result, data);
}

/* ---- The session of a session key ------------------------------------------------- */

/* Without a schema there is no such session.  A schema without this function is of
 * another version, and may contain the session. */
static void on_missing(struct hf_pg *pg, const PGresult *result)
{
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);

    if (state != NULL && strcmp(state, "3F000") == 0)
        hf_served_ended(&pg->served);
    else
        hf_dial_refuse(&pg->dial, HF_EUNSUPPORTED, NULL);
}

/* Whatever the code is, the session does not exist now. */
static void on_session_ended(struct hf_pg *pg, void *data, const PGresult *result)
{
    (void)data;
    if (result != NULL && hf_pg_fault(pg, result) == HF_SERVED_MISSING)
        on_missing(pg, result);
    else if (!hf_pg_session_failed(pg, result, hf_pg_end_session))
        hf_served_ended(&pg->served);
}

void hf_pg_end_session(struct hf_pg *pg)
{
    assert(pg->dial.phase == HF_DIAL_GREETING && pg->served.only_ends);
    send_bye(pg, &pg->session.call, on_session_ended, NULL);
}

/* ---- Our own session -------------------------------------------------------------- */

static void on_bye(struct hf_pg *pg, void *data, const PGresult *result)
{
    (void)pg;
    (void)result;
    *(bool *)data = true;
}

/* Bye is sent behind the calls in flight.  While these are answered, we wait. */
static hf_time bye_deadline(const struct hf_pg *pg, hf_time start, hf_time patience)
{
    hf_time since = pg->link.progress > start ? pg->link.progress : start;

    return hf_sooner(since + patience, start + BYE_MOST);
}

/* If the session stayed behind, waiters would have to wait for its ttl. */
void hf_pg_bye(struct hf_pg *pg)
{
    struct hf_pg_call call = { 0 };
    bool              done = false;
    hf_time           start = hf_now(), end;
    hf_time           patience = pg->served.places > 0 ? BYE_PATIENCE : BYE_PATIENCE / 5;

    assert(pg->remote.closing);
    if (pg->dial.phase != HF_DIAL_READY)
        return;
    send_bye(pg, &call, on_bye, &done);
    hf_pg_link_flush(pg);
    while (!done && hf_now() < (end = bye_deadline(pg, start, patience))) {
        struct pollfd poll_fd = { .fd = pg->served.base.fd, .events = POLLIN };
        poll(&poll_fd, 1, hf_poll_ms(hf_now(), end));
        pg->remote.now = hf_now();
        hf_pg_cancel_run(pg);
        hf_dial_run(&pg->dial, true);
        hf_pg_link_flush(pg);
    }
    pg->link.skip_cancel = pg->link.flight.first == &call; /* let bye finish later */
    hf_pg_link_finish(pg);
    assert(!call.pending); /* it is on the stack */
}
