/* function.c - the functions of the schema: how each is called, and what comes before.
 *
 * A function that is called a second time on the same connection is prepared first; before
 * the first of them the connection is tuned.  These are steps of the call: it goes out once
 * for each, alone, and then as it is.  What is urgent does not wait for that.  Behind a
 * pooler, which has many connections to the server, nothing is prepared.
 *
 *     NEVER --called--> ONCE --prepared--> PREPARED --the server forgot it--> ONCE
 *                         |                    |
 *                         +--the name is taken-+--it is of another schema--> UNPREPARED
 */
#include "store/postgres/inner.h"

#include "store/postgres/examine.sql.h"

#include <assert.h>
#include <string.h>

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
    [HF_PG_BURY] = { "hf_bury", "SELECT holdfast.bury_silent($1,$2,$3,$4)", 4 },
    [HF_PG_SWEEP] = { "hf_sweep", "SELECT holdfast.sweep($1)", 1 },
    [HF_PG_BYE] = { "hf_bye", "SELECT holdfast.bye($1,$2)", 2 },
    [HF_PG_ENTER] = { "hf_enter",
                      "SELECT * FROM holdfast.enter($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11)",
                      11 },
    [HF_PG_LEAVE] = { "hf_leave", "SELECT * FROM holdfast.leave($1,$2,$3,$4)", 4 },
    [HF_PG_READ] = { "hf_read", "SELECT * FROM holdfast.read($1,$2,$3)", 3 },
    [HF_PG_AMEND] = { "hf_amend", "SELECT * FROM holdfast.amend($1,$2,$3,$4)", 4 },
    [HF_PG_WATCH] = { "hf_watch", "SELECT * FROM holdfast.watch($1,$2,$3,$4,$5)", 5 },
    [HF_PG_BREAK] = { "hf_break", "SELECT holdfast.break_place($1,$2,$3)", 3 },
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
        return HF_PG_RUN; /* it cannot wait for them all to be answered */
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

/* The server may forget what was prepared (DISCARD ALL), or have outlived it: the schema
 * was made anew. */
static bool is_outlived(struct hf_pg_link *link, const struct hf_pg_call *call,
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
    case HF_PG_TUNE: /* done, or it cannot be */
        link->tuned = true;
        return HF_PG_GO_ON;
    case HF_PG_PREPARE:
        if (PQresultStatus(result) != PGRES_FATAL_ERROR)
            *use = PREPARED;
        else if (has_state(result, "42P05")) /* by that name there is */
            *use = UNPREPARED;
        else
            return HF_PG_OVER;
        return HF_PG_GO_ON;
    default:
        return is_outlived(link, call, result) ? HF_PG_AGAIN : HF_PG_OVER;
    }
}
