/* verbs.c - requests as calls of functions. */
#include "base/name.h"
#include "store/postgres/inner.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- What they have in common ----------------------------------------------------------------- */

void hf_pg_task_send(struct hf_pg *pg, struct hf_served_task *task,
                     hf_pg_on_result *on_result)
{
    task->flying = true;
    hf_pg_send(pg, &((struct hf_pg_task *)task)->call, false, on_result, task);
}

static bool fault(struct hf_pg *pg, struct hf_served_task *task, const PGresult *result)
{
    switch (hf_pg_fault(pg, result)) {
    case HF_PG_FINE:
        return false;
    case HF_PG_AGAIN:
        hf_task_again(&task->base);
        break;
    case HF_PG_DOWN:
    case HF_PG_NO_SCHEMA: /* dropped under our feet: hello makes it anew */
        hf_task_finish(&task->base, HF_EDOWN);
        hf_dial_break(&pg->dial, NULL);
        break;
    case HF_PG_DENIED:
        hf_task_finish(&task->base, HF_EDENIED);
        break;
    case HF_PG_OTHER:
    case HF_PG_FAILED:
        hf_task_finish(&task->base, HF_ESTORE);
        break;
    }
    return true;
}

bool hf_pg_answered(struct hf_pg *pg, struct hf_served_task *task, const PGresult *result,
                    int *code)
{
    task->flying = false;
    if (result == NULL) {
        hf_task_finish(&task->base, HF_EDOWN);
        return false;
    }
    if (fault(pg, task, result))
        return false;
    if (code == NULL)
        return true;
    *code = (int)hf_pg_number(result, 0, 0);
    if (*code == HF_PG_GONE) {
        hf_task_finish(&task->base, HF_EDOWN);
        if (pg->dial.phase == HF_DIAL_READY)
            hf_pg_session_restart(pg);
        return false;
    }
    if (*code == HF_PG_STALE) {
        hf_task_finish(&task->base, HF_EDOWN);
        hf_dial_break(&pg->dial, "has a newer connection of ours");
        return false;
    }
    return true;
}

static void begin_own(struct hf_pg *pg, enum hf_pg_function function)
{
    hf_pg_begin(pg, function);
    hf_pg_add(pg, pg->session.sid);
    hf_pg_add_number(pg, (int64_t)pg->session.connection);
}

/* Can the database keep any text that is UTF-8? */
static bool takes_all(const struct hf_pg *pg)
{
    const char *its = PQparameterStatus(pg->link.conn, "server_encoding");

    return its == NULL || strcmp(its, "UTF8") == 0 || strcmp(its, "SQL_ASCII") == 0;
}

/* What people wrote.  The database takes no text that is not UTF-8, and one in another
 * encoding not all of that: no reason to refuse a lock. */
static void add_words(struct hf_pg *pg, const char *text)
{
    char *copy = strdup(text != NULL ? text : "");
    bool  all = takes_all(pg);

    for (char *at = copy; at != NULL && *at != '\0';) {
        size_t length = hf_utf8_length(at);
        if (length == 0 || (length > 1 && !all)) {
            *at = '?';
            length = 1;
        }
        at += length;
    }
    hf_pg_add(pg, copy != NULL ? copy : "");
    free(copy);
}

/* What a message that grants the place must know. */
static void add_secret(struct hf_pg *pg, uint64_t id)
{
    const struct hf_served_place *place = hf_served_place_find(&pg->served, id);
    char                          text[17];

    snprintf(text, sizeof text, "%016" PRIx64, place->secret);
    hf_pg_add(pg, text);
}

/* { code, state, stamp, seq, slot, since, weight, ahead, nearest, asked } */
static struct hf_served_answer parse(const PGresult *result)
{
    const char *state = hf_pg_text(result, 0, 1);

    return (struct hf_served_answer){
        .state = state != NULL ? state[0] : '-',
        .stamp = (uint64_t)hf_pg_number(result, 0, 2),
        .seq = (uint64_t)hf_pg_number(result, 0, 3),
        .slot = (int)hf_pg_number(result, 0, 4),
        .since = hf_pg_number(result, 0, 5),
        .weight = (uint32_t)hf_pg_number(result, 0, 6),
        .ahead = (uint64_t)hf_pg_number(result, 0, 7),
        .nearest = (uint64_t)hf_pg_number(result, 0, 8),
        .asked = hf_pg_text(result, 0, 9),
    };
}

static void on_shown(struct hf_pg *pg, void *data, const PGresult *result)
{
    struct hf_served_task *task = data;
    int                    code;

    if (!hf_pg_answered(pg, task, result, &code))
        return;
    struct hf_served_answer answer = parse(result);
    hf_served_take(task, &answer);
    hf_served_show(task, &answer);
}

/* ---- ENTER, READ, AMEND, LEAVE ------------------------------------------------------------------ */

static void on_entered(struct hf_pg *pg, void *data, const PGresult *result)
{
    struct hf_served_task *task = data;
    int                    code;

    if (!hf_pg_answered(pg, task, result, &code))
        return;
    if (code == HF_PG_DONE) {
        struct hf_served_answer answer = parse(result);
        hf_served_take(task, &answer);
        hf_served_show(task, &answer);
        return;
    }
    hf_served_not_entered(task, code == HF_PG_MISMATCH);
}

void hf_pg_enter(struct hf_served *served, struct hf_served_task *task)
{
    struct hf_pg        *pg = (struct hf_pg *)served;
    const struct hf_req *req = task->base.req;

    if (!hf_served_enter(task))
        return;
    begin_own(pg, HF_PG_ENTER);
    hf_pg_add_number(pg, (int64_t)req->id);
    hf_pg_add(pg, req->name);
    hf_pg_add_number(pg, req->shape.weight);
    hf_pg_add_number(pg, req->shape.capacity);
    hf_pg_add_bool(pg, req->shape.claim);
    hf_pg_add_bool(pg, req->only_free);
    hf_pg_add_number(pg, req->limit);
    add_words(pg, req->note);
    add_secret(pg, req->id);
    hf_pg_task_send(pg, task, on_entered);
}

void hf_pg_look(struct hf_served *served, struct hf_served_task *task)
{
    struct hf_pg *pg = (struct hf_pg *)served;

    if (hf_served_show_known(task))
        return;
    hf_served_remember_news(task);
    begin_own(pg, HF_PG_READ);
    hf_pg_add_number(pg, (int64_t)task->base.req->id);
    hf_pg_task_send(pg, task, on_shown);
}

void hf_pg_amend(struct hf_served *served, struct hf_served_task *task)
{
    struct hf_pg *pg = (struct hf_pg *)served;

    hf_served_remember_news(task);
    begin_own(pg, HF_PG_AMEND);
    hf_pg_add_number(pg, (int64_t)task->base.req->id);
    hf_pg_add_number(pg, task->base.req->shape.weight);
    hf_pg_task_send(pg, task, on_shown);
}

static void on_left(struct hf_pg *pg, void *data, const PGresult *result)
{
    struct hf_served_task *task = data;
    int                    code;

    if (!hf_pg_answered(pg, task, result, &code))
        return;
    hf_served_left(task, hf_pg_bool(result, 0, 1));
}

void hf_pg_leave(struct hf_served *served, struct hf_served_task *task)
{
    struct hf_pg *pg = (struct hf_pg *)served;

    (void)hf_served_leave(task);
    begin_own(pg, HF_PG_LEAVE);
    hf_pg_add_number(pg, (int64_t)task->base.req->id);
    hf_pg_add(pg, task->base.req->name);
    hf_pg_task_send(pg, task, on_left);
}

/* ---- WATCH ---------------------------------------------------------------------------------------- */

static void on_watching(struct hf_pg *pg, void *data, const PGresult *result)
{
    struct hf_served_task *task = data;
    int                    code;

    if (!hf_pg_answered(pg, task, result, &code))
        return;
    /* Nobody may tell us: there is a pooler, or the server had no room for the message. */
    task->due =
        pg->remote.now +
        (pg->link.pooled || pg->config.polling ? 250 * HF_MS : pg->config.ttl / 3);
    hf_served_watching(task, hf_pg_bool(result, 0, 1));
}

/* If we do not LISTEN yet, what changes before that is looked for by LISTEN's side: a line
 * that changed meanwhile has no watch of ours any more. */
void hf_pg_watch_line(struct hf_served *served, struct hf_served_task *task)
{
    struct hf_pg        *pg = (struct hf_pg *)served;
    const struct hf_req *req = task->base.req;

    begin_own(pg, HF_PG_WATCH);
    hf_pg_add(pg, req->name);
    hf_pg_add_number(pg, (int64_t)req->stamp);
    hf_pg_add_numbers(pg, req->seqs, req->id == 0 ? req->count : 0);
    hf_pg_task_send(pg, task, on_watching);
}

void hf_pg_watch(struct hf_served *served, struct hf_served_task *task)
{
    struct hf_pg                 *pg = (struct hf_pg *)served;
    const struct hf_served_place *place =
        hf_served_place_find(served, task->base.req->id);

    hf_pg_news_want(pg, place == NULL || !place->granted);
    hf_pg_news_run(pg); /* LISTEN goes first */
    hf_served_watch(served, task);
}

/* ---- BREAK, ASK, PROVE ----------------------------------------------------------------------------- */

static void on_reached(struct hf_pg *pg, void *data, const PGresult *result)
{
    struct hf_served_task *task = data;

    if (hf_pg_answered(pg, task, result, NULL))
        hf_served_reached(task, hf_pg_number(result, 0, 0) == HF_PG_DONE);
}

void hf_pg_reach(struct hf_served *served, struct hf_served_task *task)
{
    struct hf_pg        *pg = (struct hf_pg *)served;
    const struct hf_req *req = task->base.req;

    if (req->token != 0 && req->token != req->seq) { /* here they are the same */
        hf_served_reached(task, false);
        return;
    }
    hf_pg_begin(pg, req->op == HF_BREAK ? HF_PG_BREAK : HF_PG_ASK);
    hf_pg_add(pg, req->name);
    hf_pg_add_number(pg, (int64_t)req->seq);
    if (req->op == HF_ASK)
        add_words(pg, req->note);
    hf_pg_task_send(pg, task, on_reached);
}

static void on_token(struct hf_pg *pg, void *data, const PGresult *result)
{
    struct hf_served_task *task = data;

    if (hf_pg_answered(pg, task, result, NULL))
        hf_served_reached(task, hf_pg_bool(result, 0, 0));
}

static void on_proven(struct hf_pg *pg, void *data, const PGresult *result)
{
    struct hf_served_task *task = data;
    int                    code;

    if (!hf_pg_answered(pg, task, result, &code))
        return;
    char state = parse(result).state;
    /* A crash may have made a waiter of a holder, in the tables alone: see docs/internals. */
    hf_served_proven(task, state == 'w' ? 'g' : state);
}

/* The own place: a renewal, and a look right behind it. */
void hf_pg_prove(struct hf_served *served, struct hf_served_task *task)
{
    struct hf_pg *pg = (struct hf_pg *)served;

    if (task->base.req->id == 0) {
        hf_pg_begin(pg, HF_PG_PROVE);
        hf_pg_add(pg, task->base.req->name);
        hf_pg_add_number(pg, (int64_t)task->base.req->token);
        hf_pg_task_send(pg, task, on_token);
        return;
    }
    hf_pg_renew(pg);
    begin_own(pg, HF_PG_READ);
    hf_pg_add_number(pg, (int64_t)task->base.req->id);
    hf_pg_task_send(pg, task, on_proven);
}
