/* bye.c - the end of a session: of our own, at close, or of the one that a will is of.
 *
 * A will needs no hello.  Bye locks the session's row: it waits for what the owner has
 * under way on the server, and what comes from him later finds no session any more.  That
 * is all that a newer connection would do; and it prolongs no lease if it gets no further.
 */
#include "store/postgres/inner.h"

#include <assert.h>
#include <poll.h>
#include <string.h>

/* How long close waits for an answer, if we hold anything; and for all of them. */
#define FAREWELL      (100 * HF_MS)
#define FAREWELL_MOST (2 * HF_SEC)

static void send_bye(struct hf_pg *pg, struct hf_pg_call *call,
                     hf_pg_on_result *on_result, void *data)
{
    hf_pg_begin(pg, HF_PG_BYE);
    hf_pg_add(&pg->served, pg->served.sid);
    if (pg->served.executes)
        hf_pg_add(&pg->served, NULL); /* whatever connection it is on */
    else
        hf_pg_add_number(&pg->served, pg->session.connection);
    hf_pg_send(pg, call, true, on_result, data);
}

/* ---- Of a will ------------------------------------------------------------------ */

/* Where there is no schema there is no such session.  Where there is one without this
 * function it is another version's, and the session may be in it. */
static void on_missing(struct hf_pg *pg, const PGresult *result)
{
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);

    if (state != NULL && strcmp(state, "3F000") == 0)
        hf_served_executed(&pg->served);
    else
        hf_dial_refuse(&pg->dial, HF_EUNSUPPORTED, NULL);
}

/* Whatever it answers, there is no such session now. */
static void on_executed(struct hf_pg *pg, void *data, const PGresult *result)
{
    (void)data;
    if (result != NULL && hf_pg_fault(pg, result) == HF_SERVED_MISSING)
        on_missing(pg, result);
    else if (!hf_pg_session_failed(pg, result, hf_pg_execute))
        hf_served_executed(&pg->served);
}

void hf_pg_execute(struct hf_pg *pg)
{
    assert(pg->dial.phase == HF_DIAL_GREETING && pg->served.executes);
    send_bye(pg, &pg->session.call, on_executed, NULL);
}

/* ---- Of our own ----------------------------------------------------------------- */

static void on_bye(struct hf_pg *pg, void *data, const PGresult *result)
{
    (void)pg;
    (void)result;
    *(bool *)data = true;
}

/* Bye goes behind all that is under way.  As long as that is answered, we wait. */
static hf_time farewell_end(const struct hf_pg *pg, hf_time start, hf_time patience)
{
    hf_time since = pg->link.progress > start ? pg->link.progress : start;

    return hf_sooner(since + patience, start + FAREWELL_MOST);
}

/* It should not stay behind for others to find out about. */
void hf_pg_bye(struct hf_pg *pg)
{
    struct hf_pg_call call = { 0 };
    bool              done = false;
    hf_time           start = hf_now(), end;
    hf_time           patience = pg->served.places > 0 ? FAREWELL : FAREWELL / 5;

    assert(pg->remote.closing);
    if (pg->dial.phase != HF_DIAL_READY)
        return;
    send_bye(pg, &call, on_bye, &done);
    hf_pg_link_flush(pg);
    while (!done && hf_now() < (end = farewell_end(pg, start, patience))) {
        struct pollfd poll_fd = { .fd = pg->served.base.fd, .events = POLLIN };
        poll(&poll_fd, 1, hf_poll_ms(hf_now(), end));
        pg->remote.now = hf_now();
        hf_pg_cancel_run(pg);
        hf_dial_run(&pg->dial, true);
        hf_pg_link_flush(pg);
    }
    pg->link.let_be = pg->link.flight.first == &call; /* it may be late, then */
    hf_pg_link_finish(pg);
    assert(!call.flying); /* it is on our stack */
}
