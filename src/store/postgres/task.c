/* task.c - how a verb is put to the server: as a call of a function. */
#include "base/name.h"
#include "store/postgres/inner.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* How a verb's function is called: what it wants of these, in this order. */
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
    [HF_AMEND] = { HF_PG_AMEND, true, true, false },
    [HF_ASK] = { HF_PG_ASK, false, false, true },
    [HF_PROVE] = { HF_PG_PROVE, false, false, true },
    [HF_EXAMINE] = { HF_PG_EXAMINE, false, false, true },
    [HF_SURVEY] = { HF_PG_SURVEY, true, false, false },
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
        hf_pg_add(&pg->served, req->name); /* NULL: all of them */
}

void hf_pg_task_begin(struct hf_served_task *task)
{
    begin_call(task, &forms[task->base.req->op]);
}

void hf_pg_task_begin_read(struct hf_served_task *task)
{
    begin_call(task, &(struct form){ HF_PG_READ, true, true, false });
}

/* Can the database keep any text that is UTF-8? */
static bool takes_all(const struct hf_pg *pg)
{
    const char *its = PQparameterStatus(pg->link.conn, "server_encoding");

    return its == NULL || strcmp(its, "UTF8") == 0 || strcmp(its, "SQL_ASCII") == 0;
}

/* What people wrote.  The database takes no text that is not UTF-8, and one in another
 * encoding not all of that: no reason to refuse a lock. */
void hf_pg_add_note(struct hf_served *served, const char *text)
{
    struct hf_pg *pg = (struct hf_pg *)served;
    char         *copy = strdup(text != NULL ? text : "");
    bool          all = takes_all(pg);

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

/* A call for our session that the server has not seen yet; or NULL. */
static struct hf_pg_call *find_unsent(const struct hf_pg *pg)
{
    for (struct hf_task *at = pg->remote.tasks; at != NULL; at = at->next) {
        struct hf_pg_task *task = (struct hf_pg_task *)at;
        if (task->call.flying && task->call.sent == 0 && task->for_session)
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

    assert(!call->flying);
    hf_pg_send((struct hf_pg *)hf_served_of(task), call, false, on_result, task);
}
