/* call.c - send calls, and take their answers.
 *
 * libpq's pipeline mode lets several calls be in flight.  Each has a sync of its own,
 * so each is its own transaction: a call that fails does not affect those behind it.
 * The server answers in the order of sending.  Only one call at a time is in flight if
 * libpq is older than 14, behind a pooler, and before hello has shown that there is no
 * pooler.  A step that prepares a call is alone in flight, too.
 *
 * How many calls may be in flight depends on how long they take, since a renewal has to
 * wait for all before it: one more for each call that was answered soon, half as many
 * after one that was not.
 *
 * on_result may end the connection, so after each answer we check whether it is still
 * the same one.
 *
 * After a warning the answer to a call cannot be trusted.  If the server gives up
 * waiting for a synchronous standby it still answers "done", and only warns that the
 * standby may not have the commit.  Then we give up the connection and call again.
 */
#include "store/postgres/inner.h"

#include <assert.h>
#include <stdio.h>

#define MOST 64 /* calls in flight */

/* ---- Sending -------------------------------------------------------------------- */

static bool may_pipeline(const struct hf_pg *pg)
{
    return pg->dial.phase == HF_DIAL_READY && !hf_pg_polls(pg) &&
           HF_HAS(PQenterPipelineMode) && HF_HAS(PQexitPipelineMode) &&
           HF_HAS(PQpipelineSync);
}

/* May it be sent now?  An urgent call ignores the window.  A call that is sent again
 * waits for the calls that were sent behind it. */
static bool may_send(const struct hf_pg *pg, const struct hf_pg_call *call)
{
    const struct hf_pg_link *link = &pg->link;

    if (pg->remote.closing && call->function != HF_PG_BYE)
        return false;
    if (link->flight.count == 0)
        return true;
    return may_pipeline(pg) && link->pipelined && link->step == HF_PG_RUN &&
           hf_pg_function_step(link, call) == HF_PG_RUN && !call->retried &&
           (link->flight.count < link->window || call->urgent);
}

/* Enter or leave pipeline mode, while nothing is in flight.  1 or 0, as libpq returns. */
static int set_pipeline_mode(struct hf_pg *pg)
{
    struct hf_pg_link *link = &pg->link;
    bool               pipelined = may_pipeline(pg);

    assert(link->flight.count == 0 && link->result == NULL);
    if (link->pipelined == pipelined)
        return 1;
    link->pipelined = pipelined;
    return pipelined ? PQenterPipelineMode(link->conn) : PQexitPipelineMode(link->conn);
}

static int send_text(const struct hf_pg_link *link, const char *text)
{
    return link->pipelined
               ? PQsendQueryParams(link->conn, text, 0, NULL, NULL, NULL, NULL, 0)
               : PQsendQuery(link->conn, text);
}

static int send_call(struct hf_pg *pg, struct hf_pg_call *call)
{
    struct hf_pg_link *link = &pg->link;

    if (link->flight.count == 0 && !set_pipeline_mode(pg))
        return 0;
    if (call->sent == 0) {
        call->sent = hf_now();
        call->number = ++link->numbers;
    }
    link->step = hf_pg_function_step(link, call);
    hf_pg_calls_append(&link->flight, hf_pg_calls_shift(&link->queue));
    return (call->plain ? send_text(link, call->params)
                        : hf_pg_function_send(link, call)) &&
           (!link->pipelined || PQpipelineSync(link->conn));
}

bool hf_pg_calls_send(struct hf_pg *pg)
{
    struct hf_pg_link *link = &pg->link;
    struct hf_pg_call *call;

    while ((call = link->queue.first) != NULL && may_send(pg, call)) {
        assert(call->pending);
        if (call->count < 0) {
            hf_dial_break(&pg->dial, "cannot be asked: out of memory");
            return false;
        }
        if (send_call(pg, call))
            continue;

        char line[160], why[HF_ERRMSG_MAX];
        hf_pg_fault_line(PQerrorMessage(link->conn), line, sizeof line);
        snprintf(why, sizeof why, "cannot be asked: %s", line);
        hf_dial_break(&pg->dial, why);
        return false;
    }
    return true;
}

/* ---- Taking answers ------------------------------------------------------------- */

/* Of several results keep the one that failed, else the last. */
static void keep_result(struct hf_pg_link *link, PGresult *result)
{
    if (link->result != NULL && PQresultStatus(link->result) == PGRES_FATAL_ERROR) {
        PQclear(result);
        return;
    }
    PQclear(link->result);
    link->result = result;
}

static void adapt_window(struct hf_pg *pg, const struct hf_pg_call *call)
{
    struct hf_pg_link *link = &pg->link;

    link->progress = pg->remote.now;
    if (pg->remote.now - call->sent > hf_pg_link_limit(pg) / 8)
        link->window = link->window > 1 ? link->window / 2 : 1;
    else if (link->window < MOST && link->step == HF_PG_RUN &&
             pg->dial.phase == HF_DIAL_READY)
        link->window++;
}

/* The oldest call in flight is answered. */
static void finish_first(struct hf_pg *pg)
{
    struct hf_pg_link *link = &pg->link;
    struct hf_pg_call *call = hf_pg_calls_shift(&link->flight);
    PGresult          *result = link->result;

    assert(call->pending);
    link->result = NULL;
    link->ended = false;
    adapt_window(pg, call);
    enum hf_pg_next next = hf_pg_function_next(link, call, result);
    if (next == HF_PG_OVER && !hf_pg_calls_overtaken(&link->queue, call)) {
        hf_pg_call_answer(pg, call, result);
    } else {
        call->retried = next == HF_PG_AGAIN || call->retried;
        hf_pg_calls_put_back(pg, call, next == HF_PG_GO_ON);
    }
    PQclear(result);
}

enum taken { MORE, OVER, BROKEN };

/* In a pipeline there come results, NULL, and a sync.  An error behind the NULL is one
 * of the commit.  libpq's versions differ in how they go on from there, so we give up. */
static enum taken take_piece(struct hf_pg *pg, PGresult *result)
{
    struct hf_pg_link *link = &pg->link;

    if (!link->pipelined && result == NULL)
        return OVER;
    if (link->pipelined && PQresultStatus(result) == PGRES_PIPELINE_SYNC) {
        PQclear(result);
        return OVER;
    }
    if (link->ended) {
        if (result == NULL || hf_pg_fault(pg, result) == HF_SERVED_FINE)
            hf_dial_say(&pg->dial, "sent an answer that nothing asked for");
        PQclear(result);
        return BROKEN;
    }
    link->ended = result == NULL;
    if (result != NULL)
        keep_result(link, result);
    return MORE;
}

static bool take_notifications(struct hf_pg *pg, unsigned opened)
{
    struct hf_pg_link *link = &pg->link;
    PGnotify          *note;

    while ((note = PQnotifies(link->conn)) != NULL) {
        hf_served_message(&pg->served, note->extra);
        PQfreemem(note);
        if (link->conn == NULL || pg->dial.opened != opened)
            return false;
    }
    return true;
}

bool hf_pg_calls_take(struct hf_pg *pg)
{
    struct hf_pg_link *link = &pg->link;
    unsigned           opened = pg->dial.opened;

    assert(pg->dial.phase >= HF_DIAL_GREETING && link->conn != NULL);
    while (link->flight.count > 0 && !PQisBusy(link->conn)) {
        enum taken taken = take_piece(pg, PQgetResult(link->conn));
        if (taken == MORE)
            continue;
        if (taken == BROKEN || link->warning[0] != '\0') {
            hf_dial_break(&pg->dial, taken == BROKEN ? NULL : link->warning);
            return false;
        }
        finish_first(pg);
        if (link->conn == NULL || pg->dial.opened != opened)
            return false;
    }
    if (link->warning[0] != '\0')
        return true; /* do not trust messages that came with it either */
    return take_notifications(pg, opened);
}
