/* task.c - a verb as a call of a function. */
#include "base/name.h"
#include "store/postgres/inner.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* The first arguments of a verb's function: which of these, in this order. */
struct form {
    enum hf_pg_function function;
    bool                session; /* ours, and the number of the connection */
    bool                place;   /* its id */
    bool                line;    /* its name */
};

static const struct form forms[] = {
    [HF_ENTER] = { HF_PG_ENTER, true, true, true },
    [HF_WATCH] = { HF_PG_WATCH, true, false, true },
    [HF_LEAVE] = { HF_PG_LEAVE, true, true, true },
    [HF_LIST] = { HF_PG_LIST, false, false, true },
    [HF_BREAK] = { HF_PG_BREAK, false, false, true },
    [HF_DOWNGRADE] = { HF_PG_DOWNGRADE, true, true, true },
    [HF_ASK] = { HF_PG_ASK, false, false, true },
    [HF_VERIFY] = { HF_PG_VERIFY, false, false, true },
    [HF_DIAGNOSE] = { HF_PG_DIAGNOSE, false, false, true },
    [HF_WATCH_STORE] = { HF_PG_WATCH_STORE, true, false, false },
    [HF_HISTORY] = { HF_PG_HISTORY, false, false, true },
};

static void begin_call(struct hf_served_task *task, const struct form *form)
{
    struct hf_pg        *pg = (struct hf_pg *)hf_served_of(task);
    const struct hf_req *req = task->base.req;

    assert(!task->flying && (form->session || !form->place));
    ((struct hf_pg_task *)task)->for_session = form->session;
    hf_pg_begin(pg, form->function);
    if (form->session) {
        hf_pg_add(&pg->served, pg->served.sid);
        hf_pg_add_number(&pg->served, pg->session.connection);
    }
    if (form->place)
        hf_pg_add_number(&pg->served, req->id);
    if (form->line)
        hf_pg_add(&pg->served, req->name); /* NULL: all lines */
}

void hf_pg_task_begin(struct hf_served_task *task)
{
    begin_call(task, &forms[task->base.req->op]);
}

void hf_pg_task_begin_read(struct hf_served_task *task)
{
    begin_call(task, &(struct form){ HF_PG_READ, true, true, true });
}

/* Can the database store any UTF-8 text? */
static bool stores_all_utf8(const struct hf_pg *pg)
{
    const char *its = PQparameterStatus(pg->link.conn, "server_encoding");

    return its == NULL || strcmp(its, "UTF8") == 0 || strcmp(its, "SQL_ASCII") == 0;
}

/* Add a text that people wrote.  The database refuses text that is not UTF-8, or that its
 * encoding lacks.  That is no reason to refuse a lock, so replace such characters. */
void hf_pg_add_note(struct hf_served *served, const char *text)
{
    struct hf_pg *pg = (struct hf_pg *)served;
    char         *copy = strdup(text != NULL ? text : "");
    bool          all = stores_all_utf8(pg);

    for (char *at = copy; at != NULL && *at != '\0';) {
        size_t length = hf_utf8_length(at);
        if (length == 0 || (length > 1 && !all)) {
            *at = '?';
            length = 1;
        }
        at += length;
    }
    hf_pg_add(served, copy != NULL ? copy : "");
    free(copy);
}

/* A call that names our session and was not sent yet; or NULL. */
static struct hf_pg_call *find_unsent(const struct hf_pg *pg)
{
    for (struct hf_task *at = pg->remote.tasks; at != NULL; at = at->next) {
        struct hf_pg_task *task = (struct hf_pg_task *)at;
        if (task->call.pending && task->call.sent == 0 && task->for_session)
            return &task->call;
    }
    return NULL;
}

void hf_pg_tasks_drop(struct hf_pg *pg)
{
    struct hf_pg_call *call;

    while ((call = find_unsent(pg)) != NULL)
        hf_pg_call_drop(pg, call);
}

static void on_result(struct hf_pg *pg, void *data, const PGresult *result)
{
    hf_served_answered(data, hf_pg_fault(pg, result), result);
}

void hf_pg_task_send(struct hf_served_task *task)
{
    struct hf_pg_call *call = &((struct hf_pg_task *)task)->call;

    assert(!call->pending);
    hf_pg_send((struct hf_pg *)hf_served_of(task), call, false, on_result, task);
}
