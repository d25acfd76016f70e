/* task.c - a verb as a call of a function or a procedure. */
#include "base/name.h"
#include "store/mariadb/inner.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* The first arguments of a verb's function: which of these, in this order. */
struct form {
    const char *function;
    bool        session; /* ours, and the number of the connection */
    bool        place;   /* its id */
    bool        line;    /* its name */
    bool        rows;    /* a procedure: it answers with rows */
};

static const struct form forms[] = {
    [HF_ENTER] = { "hf_enter", true, true, true, false },
    [HF_WATCH] = { "hf_watch_line", true, false, true, false },
    [HF_LEAVE] = { "hf_leave", true, true, true, false },
    [HF_LIST] = { "hf_list", false, false, true, true },
    [HF_BREAK] = { "hf_break_place", false, false, true, false },
    [HF_DOWNGRADE] = { "hf_downgrade", true, true, false, false },
    [HF_ASK] = { "hf_ask", false, false, true, false },
    [HF_VERIFY] = { "hf_verify", false, false, true, false },
    [HF_DIAGNOSE] = { "hf_overview", false, false, true, true },
    [HF_WATCH_STORE] = { "hf_watch_store", true, false, false, false },
    [HF_HISTORY] = { "hf_history", false, false, true, true },
};

static void begin_call(struct hf_served_task *task, const struct form *form)
{
    struct hf_maria     *maria = (struct hf_maria *)hf_served_of(task);
    const struct hf_req *req = task->base.req;

    assert(!task->flying && (form->session || !form->place));
    ((struct hf_maria_task *)task)->for_session = form->session;
    (form->rows ? hf_maria_begin_call : hf_maria_begin)(maria, form->function);
    if (form->session) {
        hf_maria_add(&maria->served, maria->served.sid);
        hf_maria_add_number(&maria->served, maria->session.connection);
    }
    if (form->place)
        hf_maria_add_number(&maria->served, req->id);
    if (form->line)
        hf_maria_add(&maria->served, req->name); /* NULL: all lines */
}

void hf_maria_task_begin(struct hf_served_task *task)
{
    begin_call(task, &forms[task->base.req->op]);
}

void hf_maria_task_begin_read(struct hf_served_task *task)
{
    begin_call(task, &(struct form){ "hf_read", true, true, false, false });
}

/* Texts are bytes in our tables. */
void hf_maria_add_note(struct hf_served *served, const char *text)
{
    hf_maria_add(served, text != NULL ? text : "");
}

/* A call that names our session and was not sent yet; or NULL. */
static struct hf_maria_call *find_unsent(const struct hf_maria *maria)
{
    for (struct hf_task *at = maria->remote.tasks; at != NULL; at = at->next) {
        struct hf_maria_task *task = (struct hf_maria_task *)at;
        if (task->call.pending && &task->call != maria->calls.flying && task->for_session)
            return &task->call;
    }
    return NULL;
}

void hf_maria_tasks_drop(struct hf_maria *maria)
{
    struct hf_maria_call *call;

    while ((call = find_unsent(maria)) != NULL)
        hf_maria_call_drop(maria, call);
}

static void on_reply(struct hf_maria *maria, void *data, const struct hf_my_reply *reply)
{
    hf_served_answered(data, hf_maria_fault(maria, reply), reply);
}

void hf_maria_task_send(struct hf_served_task *task)
{
    struct hf_maria_call *call = &((struct hf_maria_task *)task)->call;

    assert(!call->pending);
    hf_maria_send((struct hf_maria *)hf_served_of(task), call, false, on_reply, task);
}

void hf_maria_task_free(struct hf_served_task *task)
{
    hf_my_query_finish(&((struct hf_maria_task *)task)->call.query);
}
