/* call.c - functions of the schema, called one after the other.
 *
 * One query is under way at a time.  A function that is called a second time on the same
 * connection is prepared first; before the first of them the connection is tuned.  Behind a
 * pooler, which has many connections to the server, nothing is prepared.  Whoever takes an
 * answer may end the connection, so after each answer we see whether it is still the same
 * one.
 *
 * A warning during a call makes its answer worth nothing.  The server answers "done"
 * also if it gave up waiting for a synchronous standby; only a warning tells that the
 * standby may not know.  Then we give the connection up and call again.
 */
#include "store/postgres/inner.h"

#include "store/postgres/examine.sql.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROOM_KEPT (64 * 1024) /* larger ones are not used again */

/* link.use[]: has the function been called on this connection? */
enum use {
    NEVER,
    ONCE,
    PREPARED,
    UNPREPARED, /* it cannot be prepared */
};

struct function {
    const char *name;
    const char *text;
    int         count; /* of arguments */
};

static const struct function functions[HF_PG_FUNCTIONS] = {
    [HF_PG_HELLO] = { "hf_hello", "SELECT * FROM holdfast.hello($1,$2,$3,$4,$5,$6)", 6 },
    [HF_PG_MEND] = { "hf_mend", "SELECT holdfast.mend($1,$2,$3)", 3 },
    [HF_PG_RENEW] = { "hf_renew", "SELECT * FROM holdfast.renew($1,$2)", 2 },
    [HF_PG_NEWS] = { "hf_news", "SELECT * FROM holdfast.news($1)", 1 },
    [HF_PG_BURY] = { "hf_bury", "SELECT holdfast.bury_silent($1,$2,$3)", 3 },
    [HF_PG_SWEEP] = { "hf_sweep", "SELECT holdfast.sweep($1)", 1 },
    [HF_PG_BYE] = { "hf_bye", "SELECT holdfast.bye($1,$2)", 2 },
    [HF_PG_ENTER] = { "hf_enter",
                      "SELECT * FROM holdfast.enter($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11)",
                      11 },
    [HF_PG_LEAVE] = { "hf_leave", "SELECT * FROM holdfast.leave($1,$2,$3,$4)", 4 },
    [HF_PG_READ] = { "hf_read", "SELECT * FROM holdfast.read($1,$2,$3)", 3 },
    [HF_PG_AMEND] = { "hf_amend", "SELECT * FROM holdfast.amend($1,$2,$3,$4)", 4 },
    [HF_PG_WATCH] = { "hf_watch", "SELECT * FROM holdfast.watch($1,$2,$3,$4,$5)", 5 },
    [HF_PG_BREAK] = { "hf_break", "SELECT holdfast.break_place($1,$2)", 2 },
    [HF_PG_ASK] = { "hf_ask", "SELECT holdfast.ask($1,$2,$3)", 3 },
    [HF_PG_PROVE] = { "hf_prove",
                      "SELECT CASE WHEN holdfast.prove($1,$2) THEN 0 ELSE 6 END", 2 },
    [HF_PG_LIST] = { "hf_list", "SELECT 0, * FROM holdfast.list($1)", 1 },
    [HF_PG_SURVEY] = { "hf_survey", "SELECT * FROM holdfast.survey($1,$2,$3,$4)", 4 },
    [HF_PG_KEEP] = { "hf_keep", "SELECT holdfast.keep_history($1)", 1 },
    [HF_PG_HISTORY] = { "hf_history", "SELECT * FROM holdfast.history($1,$2)", 2 },
    [HF_PG_EXAMINE] = { "hf_examine", examine_sql, 1 },
};

/* Plans are kept as long as the connection is.  One that was made while tables were all but
 * empty would read the whole of them for ever; and none is worth being compiled. */
static const char tune_sql[] = "SET enable_seqscan = off; SET jit = off";

/* ---- The queue ------------------------------------------------------------------ */

/* Behind other urgent ones if it is urgent, else at the end. */
static void enlist_call(struct hf_pg_link *link, struct hf_pg_call *call)
{
    struct hf_pg_call **at = &link->first;

    assert((link->first == NULL) == (link->last == NULL));
    assert(!link->busy || link->first != NULL);
    if (call->urgent) {
        if (link->busy)
            at = &link->first->next;
        while (*at != NULL && (*at)->urgent)
            at = &(*at)->next;
    } else if (link->last != NULL) {
        at = &link->last->next;
    }
    call->next = *at;
    *at = call;
    if (call->next == NULL)
        link->last = call;
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
    enlist_call(&pg->link, call);
}

void hf_pg_send(struct hf_pg *pg, struct hf_pg_call *call, bool urgent,
                hf_pg_on_result *on_result, void *data)
{
    assert(pg->args.count == functions[pg->args.function].count);
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
    struct hf_pg_call *call = link->first;

    assert(pg->dial.phase == HF_DIAL_RESTING && link->conn == NULL);
    link->first = link->last = NULL;
    link->busy = link->preparing = link->tuning = false;
    PQclear(link->result);
    link->result = NULL;
    while (call != NULL) {
        struct hf_pg_call *next = call->next;
        answer_call(pg, call, NULL);
        call = next;
    }
    assert(link->first == NULL); /* whoever heard of it could send nothing new */
}

void hf_pg_call_drop(struct hf_pg *pg, struct hf_pg_call *call)
{
    struct hf_pg_link  *link = &pg->link;
    struct hf_pg_call **at = &link->first, *before = NULL;

    assert(call->flying && call->sent == 0);
    while (*at != call) {
        assert(*at != NULL); /* whatever flies is in the queue */
        before = *at;
        at = &before->next;
    }
    *at = call->next;
    if (link->last == call)
        link->last = before;
    answer_call(pg, call, NULL);
}

/* ---- Sending -------------------------------------------------------------------- */

/* 1 or 0, as libpq has it. */
static int send_function(struct hf_pg *pg, const struct hf_pg_call *call)
{
    struct hf_pg_link     *link = &pg->link;
    const struct function *function = &functions[call->function];
    unsigned char         *use = &link->use[call->function];
    const char            *value[HF_PG_ARGS], *at = call->params;

    assert(!call->plain && call->count == function->count);
    for (int i = 0; i < call->count; i++, at += strlen(at) + 1)
        value[i] = (call->nulls & 1u << i) != 0 ? NULL : at;
    link->preparing = !link->pooled && *use == ONCE;
    link->tuning = link->preparing && !link->tuned;
    if (link->tuning)
        return PQsendQuery(link->conn, tune_sql);
    if (link->preparing)
        return PQsendPrepare(link->conn, function->name, function->text, 0, NULL);
    if (*use == PREPARED && !link->pooled)
        return PQsendQueryPrepared(link->conn, function->name, call->count, value, NULL,
                                   NULL, 0);
    if (*use == NEVER)
        *use = ONCE;
    return PQsendQueryParams(link->conn, function->text, call->count, NULL, value, NULL,
                             NULL, 0);
}

static int send_call(struct hf_pg *pg, struct hf_pg_call *call)
{
    if (call->sent == 0)
        call->sent = hf_now();
    return call->plain ? PQsendQuery(pg->link.conn, call->params)
                       : send_function(pg, call);
}

bool hf_pg_calls_send(struct hf_pg *pg)
{
    struct hf_pg_link *link = &pg->link;
    struct hf_pg_call *call = link->first;

    if (link->busy || call == NULL)
        return true;
    if (call->count < 0) {
        hf_dial_break(&pg->dial, "cannot be asked: out of memory");
        return false;
    }
    assert(call->flying && link->result == NULL); /* the last one was answered */
    link->busy = true;
    link->warning[0] = '\0';
    if (send_call(pg, call))
        return true;

    char line[160], why[HF_ERRMSG_MAX];
    hf_pg_fault_line(PQerrorMessage(link->conn), line, sizeof line);
    snprintf(why, sizeof why, "cannot be asked: %s", line);
    hf_dial_break(&pg->dial, why);
    return false;
}

/* ---- Taking answers ------------------------------------------------------------- */

/* Of several results, the one that failed counts; else the last. */
static void keep_result(struct hf_pg_link *link, PGresult *result)
{
    assert(link->busy);
    if (link->result != NULL && PQresultStatus(link->result) == PGRES_FATAL_ERROR) {
        PQclear(result);
        return;
    }
    PQclear(link->result);
    link->result = result;
}

static bool has_state(const PGresult *result, const char *state)
{
    const char *its = PQresultErrorField(result, PG_DIAG_SQLSTATE);

    return its != NULL && strcmp(its, state) == 0;
}

/* Is the call to be sent again?  The server may forget what was prepared (DISCARD ALL),
 * or have outlived it: the schema was made anew. */
static bool is_unfinished(struct hf_pg_link *link, struct hf_pg_call *call)
{
    unsigned char *use = call->plain ? NULL : &link->use[call->function];
    bool           failed = PQresultStatus(link->result) == PGRES_FATAL_ERROR;

    if (use == NULL)
        return false;
    if (link->tuning) { /* done, or it cannot be */
        link->tuned = true;
        link->tuning = false;
        return true;
    }
    if (link->preparing && has_state(link->result, "42P05")) { /* by that name there is */
        *use = UNPREPARED;
        return true;
    }
    if (link->preparing && !failed) {
        *use = PREPARED;
        return true;
    }
    if (!link->preparing && *use == PREPARED && !call->retried &&
        (has_state(link->result, "26000") || has_state(link->result, "0A000"))) {
        *use = has_state(link->result, "26000") ? ONCE : UNPREPARED;
        link->tuned = false;
        call->retried = true;
        return true;
    }
    return false;
}

/* The call under way is over. */
static void finish_first(struct hf_pg *pg)
{
    struct hf_pg_link *link = &pg->link;
    struct hf_pg_call *call = link->first;
    PGresult          *result = link->result;

    assert(link->busy && call != NULL && call->flying);
    link->busy = false;
    if (is_unfinished(link, call)) {
        PQclear(result);
        link->result = NULL;
        return;
    }
    link->preparing = false;
    link->result = NULL;
    link->first = call->next;
    if (link->first == NULL)
        link->last = NULL;
    answer_call(pg, call, result);
    PQclear(result);
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
    while (link->busy && !PQisBusy(link->conn)) {
        PGresult *result = PQgetResult(link->conn);
        if (result != NULL) {
            keep_result(link, result);
            continue;
        }
        if (link->warning[0] != '\0') {
            link->busy = false;
            hf_dial_break(&pg->dial, link->warning);
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
