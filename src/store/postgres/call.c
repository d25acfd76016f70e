/* call.c - calls of the server: those that wait, and those under way.
 *
 *     hf_pg_send --> queue --sent--> flight --answered--> on_result
 *                      ^                |
 *                      +--a step of it--+    being prepared; or it is to be sent again
 *
 * By libpq's pipeline mode several are under way at a time.  Each has a sync of its own, so
 * each is its own transaction, and one that fails does not concern those behind it.  They
 * are answered in the order in which they were sent.  One at a time goes out where libpq is
 * older than 14, behind a pooler, and before hello has shown that there is none; and what
 * has to be done before a call is alone under way.
 *
 * How many may be under way depends on how long they take, for a renewal has to wait for all
 * before it: more by one for each call that was answered soon, half as many for one that was
 * not.
 *
 * A call that is to be sent again goes out before all that was never sent.  But those behind
 * it were done meanwhile: an ENTER may have found the place that the call is to give up.  So
 * ENTERs are asked again, behind it; a repeat finds its place.
 *
 * At close nothing is sent any more but the farewell.
 *
 * Whoever takes an answer may end the connection, so after each answer we see whether it is
 * still the same one.
 *
 * A warning during a call makes its answer worth nothing.  The server answers "done"
 * also if it gave up waiting for a synchronous standby; only a warning tells that the
 * standby may not know.  Then we give the connection up and call again.
 */
#include "store/postgres/inner.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROOM_KEPT (64 * 1024) /* larger ones are not used again */
#define MOST      64          /* under way */

/* ---- The queue ------------------------------------------------------------------ */

static void append_call(struct hf_pg_calls *calls, struct hf_pg_call *call)
{
    assert((calls->first == NULL) == (calls->last == NULL));
    call->next = NULL;
    if (calls->last != NULL)
        calls->last->next = call;
    else
        calls->first = call;
    calls->last = call;
    calls->count++;
}

static struct hf_pg_call *take_first(struct hf_pg_calls *calls)
{
    struct hf_pg_call *call = calls->first;

    assert(call != NULL && calls->count > 0);
    calls->first = call->next;
    if (calls->first == NULL)
        calls->last = NULL;
    calls->count--;
    return call;
}

static void insert_call(struct hf_pg_calls *calls, struct hf_pg_call **at,
                        struct hf_pg_call *call)
{
    call->next = *at;
    *at = call;
    if (call->next == NULL)
        calls->last = call;
    calls->count++;
}

/* Behind other urgent ones if it is urgent, else at the end.  What was sent before stays
 * ahead of all but the farewell. */
static void enlist_call(struct hf_pg_calls *queue, struct hf_pg_call *call)
{
    struct hf_pg_call **at = &queue->first;

    if (!call->urgent) {
        append_call(queue, call);
        return;
    }
    while (*at != NULL && call->function != HF_PG_BYE &&
           ((*at)->urgent || (*at)->sent != 0))
        at = &(*at)->next;
    insert_call(queue, at, call);
}

/* It is to be sent again: next, or behind others that are, in the order of their first
 * sending.  At close it stays there. */
static void put_back(struct hf_pg *pg, struct hf_pg_call *call, bool next)
{
    struct hf_pg_calls *queue = &pg->link.queue;
    struct hf_pg_call **at = &queue->first;

    assert(call->flying && call->sent != 0);
    if (pg->remote.closing) {
        append_call(queue, call);
        return;
    }
    while (!next && *at != NULL && (*at)->sent != 0)
        at = &(*at)->next;
    insert_call(queue, at, call);
}

/* Was it done before one that was sent first, and may that matter? */
static bool has_overtaken(const struct hf_pg_calls *queue, const struct hf_pg_call *call)
{
    return call->function == HF_PG_ENTER && !call->plain && queue->first != NULL &&
           queue->first->sent != 0 && queue->first->number < call->number;
}

/* What was gathered becomes the call's. */
static void send_args(struct hf_pg *pg, struct hf_pg_call *call, bool urgent, bool plain,
                      hf_pg_on_result *on_result, void *data)
{
    struct hf_pg_args *args = &pg->args;

    assert(pg->dial.phase >= HF_DIAL_GREETING && !call->flying);
    *call = (struct hf_pg_call){ .function = args->function,
                                 .params = args->text,
                                 .room = args->room,
                                 .count = args->failed ? -1 : args->count,
                                 .nulls = args->nulls,
                                 .on_result = on_result,
                                 .data = data,
                                 .flying = true,
                                 .urgent = urgent,
                                 .plain = plain };
    args->text = NULL;
    args->room = 0;
    enlist_call(&pg->link.queue, call);
}

void hf_pg_send(struct hf_pg *pg, struct hf_pg_call *call, bool urgent,
                hf_pg_on_result *on_result, void *data)
{
    assert(pg->args.count == hf_pg_function_count(pg->args.function));
    send_args(pg, call, urgent, false, on_result, data);
}

void hf_pg_query(struct hf_pg *pg, struct hf_pg_call *call, const char *text,
                 hf_pg_on_result *on_result, void *data)
{
    hf_pg_begin(pg, HF_PG_FUNCTIONS);
    hf_pg_add(&pg->served, text);
    send_args(pg, call, false, true, on_result, data);
}

/* Its memory may serve the next one. */
static void recycle(struct hf_pg_args *args, struct hf_pg_call *call)
{
    if (args->text == NULL && call->room <= ROOM_KEPT) {
        args->text = call->params;
        args->room = call->room;
    } else {
        free(call->params);
    }
    call->params = NULL;
}

static void answer_call(struct hf_pg *pg, struct hf_pg_call *call, const PGresult *result)
{
    assert(call->flying);
    recycle(&pg->args, call);
    call->next = NULL;
    call->flying = false;
    call->on_result(pg, call->data, result); /* the call may be gone now */
}

void hf_pg_calls_drop(struct hf_pg *pg)
{
    struct hf_pg_link *link = &pg->link;

    assert(pg->dial.phase == HF_DIAL_RESTING && link->conn == NULL);
    PQclear(link->result);
    link->result = NULL;
    while (link->flight.first != NULL)
        answer_call(pg, take_first(&link->flight), NULL);
    while (link->queue.first != NULL) /* whoever hears of it can send nothing new */
        answer_call(pg, take_first(&link->queue), NULL);
}

void hf_pg_call_drop(struct hf_pg *pg, struct hf_pg_call *call)
{
    struct hf_pg_calls *queue = &pg->link.queue;
    struct hf_pg_call **at = &queue->first, *before = NULL;

    assert(call->flying && call->sent == 0);
    while (*at != call) {
        assert(*at != NULL); /* whatever flies and was not sent is there */
        before = *at;
        at = &before->next;
    }
    *at = call->next;
    if (queue->last == call)
        queue->last = before;
    queue->count--;
    answer_call(pg, call, NULL);
}

/* ---- Sending -------------------------------------------------------------------- */

static bool may_pipeline(const struct hf_pg *pg)
{
    return pg->dial.phase == HF_DIAL_READY && !hf_pg_polls(pg) &&
           HF_HAS(PQenterPipelineMode) && HF_HAS(PQexitPipelineMode) &&
           HF_HAS(PQpipelineSync);
}

/* May it be sent now?  An urgent one waits for no room; one that was undone, for those that
 * were sent behind it. */
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

/* Only while nothing is under way.  1 or 0, as libpq has it. */
static int choose_mode(struct hf_pg *pg)
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

    if (link->flight.count == 0 && !choose_mode(pg))
        return 0;
    if (call->sent == 0) {
        call->sent = hf_now();
        call->number = ++link->numbers;
    }
    link->step = hf_pg_function_step(link, call);
    append_call(&link->flight, take_first(&link->queue));
    return (call->plain ? send_text(link, call->params)
                        : hf_pg_function_send(link, call)) &&
           (!link->pipelined || PQpipelineSync(link->conn));
}

bool hf_pg_calls_send(struct hf_pg *pg)
{
    struct hf_pg_link *link = &pg->link;
    struct hf_pg_call *call;

    while ((call = link->queue.first) != NULL && may_send(pg, call)) {
        assert(call->flying);
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

/* Of several results, the one that failed counts; else the last. */
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

/* The oldest under way is over. */
static void finish_first(struct hf_pg *pg)
{
    struct hf_pg_link *link = &pg->link;
    struct hf_pg_call *call = take_first(&link->flight);
    PGresult          *result = link->result;

    assert(call->flying);
    link->result = NULL;
    link->ended = false;
    adapt_window(pg, call);
    enum hf_pg_next next = hf_pg_function_next(link, call, result);
    if (next == HF_PG_OVER && !has_overtaken(&link->queue, call)) {
        answer_call(pg, call, result);
    } else {
        call->retried = next == HF_PG_AGAIN || call->retried;
        put_back(pg, call, next == HF_PG_GO_ON);
    }
    PQclear(result);
}

enum taken { MORE, OVER, BROKEN };

/* In a pipeline: results, NULL, sync.  What fails behind the NULL fails at its commit.  How
 * libpq goes on from there depends on its version, so we do not. */
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
            hf_dial_say(&pg->dial, "answers what was not asked");
        PQclear(result);
        return BROKEN;
    }
    link->ended = result == NULL;
    if (result != NULL)
        keep_result(link, result);
    return MORE;
}

static bool take_notes(struct hf_pg *pg, unsigned opened)
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
        return true; /* nor are messages that came with it worth anything */
    return take_notes(pg, opened);
}
