/* function.c - the functions of the schema: how to call each, and when to prepare it.
 *
 * A function that is called a second time on a connection is prepared first.  Before the
 * first is prepared, the connection is tuned.  These are steps of the call, sent one at a
 * time, before the call itself.  An urgent call does not wait for them.  Behind a pooler,
 * which has many connections to the server, nothing is prepared.
 *
 *     NEVER --called--> ONCE --prepared--> PREPARED --the server forgot it--> ONCE
 *                         |                    |
 *                         +--the name is taken-+--the schema was replaced--> UNPREPARED
 */
#include "store/postgres/inner.h"

#include "store/postgres/diagnose.sql.h"

#include <assert.h>
#include <string.h>

/* link.use[]: has the function been called on this connection? */
enum use {
    NEVER,
    ONCE,
    PREPARED,
    UNPREPARED, /* cannot be prepared */
};

struct function {
    const char *name;
    const char *text;
    int         count; /* of arguments */
};

static const struct function functions[HF_PG_FUNCTIONS] = {
    [HF_PG_HELLO] = { "hf_hello", "SELECT * FROM holdfast.hello($1,$2,$3,$4,$5,$6)", 6 },
    [HF_PG_RECLAIM] = { "hf_reclaim", "SELECT holdfast.reclaim($1,$2,$3)", 3 },
    [HF_PG_RENEW] = { "hf_renew", "SELECT * FROM holdfast.renew($1,$2)", 2 },
    [HF_PG_MESSAGES] = { "hf_messages", "SELECT * FROM holdfast.messages($1)", 1 },
    [HF_PG_EXPIRE] = { "hf_expire", "SELECT holdfast.expire_silent($1,$2,$3,$4)", 4 },
    [HF_PG_SWEEP] = { "hf_sweep", "SELECT holdfast.sweep($1)", 1 },
    [HF_PG_BYE] = { "hf_bye", "SELECT holdfast.bye($1,$2)", 2 },
    [HF_PG_ENTER] = { "hf_enter",
                      "SELECT holdfast.enter($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11)", 11 },
    [HF_PG_LEAVE] = { "hf_leave", "SELECT holdfast.leave($1,$2,$3,$4)", 4 },
    [HF_PG_READ] = { "hf_read", "SELECT holdfast.read($1,$2,$3,$4)", 4 },
    [HF_PG_DOWNGRADE] = { "hf_downgrade", "SELECT holdfast.downgrade($1,$2,$3,$4,$5)",
                          5 },
    [HF_PG_WATCH] = { "hf_watch", "SELECT * FROM holdfast.watch($1,$2,$3,$4,$5)", 5 },
    [HF_PG_BREAK] = { "hf_break", "SELECT holdfast.break_place($1,$2,$3)", 3 },
    [HF_PG_ASK] = { "hf_ask", "SELECT holdfast.ask($1,$2,$3)", 3 },
    [HF_PG_VERIFY] = { "hf_verify",
                       "SELECT CASE WHEN holdfast.verify($1,$2) THEN 0 ELSE 6 END", 2 },
    [HF_PG_LIST] = { "hf_list", "SELECT 0, * FROM holdfast.list($1)", 1 },
    [HF_PG_WATCH_STORE] = { "hf_watch_store",
                            "SELECT * FROM holdfast.watch_store($1,$2,$3,$4)", 4 },
    [HF_PG_KEEP_HISTORY] = { "hf_keep_history", "SELECT holdfast.keep_history($1)", 1 },
    [HF_PG_HISTORY] = { "hf_history", "SELECT * FROM holdfast.history($1,$2)", 2 },
    [HF_PG_DIAGNOSE] = { "hf_diagnose", diagnose_sql, 1 },
};

/* The server keeps a plan as long as the connection.  A plan that was made while a
 * table was nearly empty would read the whole table for ever.  No plan here is worth
 * compiling. */
static const char tune_sql[] =
    "SELECT pg_catalog.set_config('enable_seqscan', 'off', false), "
    "pg_catalog.set_config('jit', 'off', false)";

int hf_pg_function_count(enum hf_pg_function function)
{
    return functions[function].count;
}

enum hf_pg_step hf_pg_function_step(const struct hf_pg_link *link,
                                    const struct hf_pg_call *call)
{
    if (call->plain || link->pooled || link->use[call->function] != ONCE)
        return HF_PG_RUN;
    if (call->urgent && link->flight.count > 0)
        return HF_PG_RUN; /* it cannot wait until nothing is in flight */
    return link->tuned ? HF_PG_PREPARE : HF_PG_TUNE;
}

int hf_pg_function_send(struct hf_pg_link *link, struct hf_pg_call *call)
{
    const struct function *function = &functions[call->function];
    unsigned char         *use = &link->use[call->function];
    const char            *value[HF_PG_ARGS], *at = call->params;

    assert(!call->plain && call->count == function->count);
    if (link->step == HF_PG_TUNE)
        return PQsendQueryParams(link->conn, tune_sql, 0, NULL, NULL, NULL, NULL, 0);
    if (link->step == HF_PG_PREPARE)
        return PQsendPrepare(link->conn, function->name, function->text, 0, NULL);
    for (int i = 0; i < call->count; i++, at += strlen(at) + 1)
        value[i] = (call->nulls & 1u << i) != 0 ? NULL : at;
    call->prepared = *use == PREPARED && !link->pooled;
    if (call->prepared)
        return PQsendQueryPrepared(link->conn, function->name, call->count, value, NULL,
                                   NULL, 0);
    if (*use == NEVER)
        *use = ONCE;
    return PQsendQueryParams(link->conn, function->text, call->count, NULL, value, NULL,
                             NULL, 0);
}

static bool has_state(const PGresult *result, const char *state)
{
    const char *its = PQresultErrorField(result, PG_DIAG_SQLSTATE);

    return its != NULL && strcmp(its, state) == 0;
}

/* Has the server forgotten the prepared statement (DISCARD ALL), or was the schema
 * replaced?
 */
static bool is_stale(struct hf_pg_link *link, const struct hf_pg_call *call,
                     const PGresult *result)
{
    bool forgotten = has_state(result, "26000");

    if (!call->prepared || call->retried || (!forgotten && !has_state(result, "0A000")))
        return false;
    link->use[call->function] = forgotten ? ONCE : UNPREPARED;
    link->tuned = false;
    return true;
}

enum hf_pg_next hf_pg_function_next(struct hf_pg_link       *link,
                                    const struct hf_pg_call *call, const PGresult *result)
{
    unsigned char *use = &link->use[call->function];

    if (call->plain)
        return HF_PG_OVER;
    switch (link->step) {
    case HF_PG_TUNE: /* done, or not possible */
        link->tuned = true;
        return HF_PG_GO_ON;
    case HF_PG_PREPARE:
        if (PQresultStatus(result) != PGRES_FATAL_ERROR)
            *use = PREPARED;
        else if (has_state(result, "42P05")) /* the name is taken */
            *use = UNPREPARED;
        else
            return HF_PG_OVER;
        return HF_PG_GO_ON;
    default:
        return is_stale(link, call, result) ? HF_PG_AGAIN : HF_PG_OVER;
    }
}
