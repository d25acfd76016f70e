/* call.c - see call.h.
 *
 *     hf_maria_send --> queue --sent--> flying --answered--> on_reply
 *
 * An urgent call goes behind other urgent ones, any other call to the end.  During close
 * only bye is sent, which goes to the front.
 */
#include "store/mariadb/inner.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* ---- Arguments ---------------------------------------------------------------------- */

static void begin(struct hf_maria *maria, const char *verb, const char *routine)
{
    char text[128];
    int  used =
        snprintf(text, sizeof text, "%s `%s`.%s(", verb, maria->config.database, routine);

    assert(used > 0 && (size_t)used < sizeof text);
    hf_my_query_begin(&maria->args, text);
}

void hf_maria_begin(struct hf_maria *maria, const char *function)
{
    begin(maria, "SELECT", function);
}

void hf_maria_begin_call(struct hf_maria *maria, const char *procedure)
{
    begin(maria, "CALL", procedure);
}

void hf_maria_add(struct hf_served *served, const char *text)
{
    hf_my_query_text(&((struct hf_maria *)served)->args, text);
}

void hf_maria_add_number(struct hf_served *served, uint64_t number)
{
    hf_my_query_number(&((struct hf_maria *)served)->args,
                       (int64_t)number); /* SQL's BIGINT */
}

/* ---- The queue ---------------------------------------------------------------------- */

/* Move the arguments into the call, and queue it. */
static void enqueue(struct hf_maria *maria, struct hf_maria_call *call, bool urgent,
                    hf_maria_on_reply *on_reply, void *data)
{
    struct hf_maria_calls *calls = &maria->calls;
    struct hf_my_query     kept = call->query; /* its memory is used again */

    assert(maria->main.dial.phase >= HF_DIAL_GREETING && !call->pending);
    *call = (struct hf_maria_call){ .query = maria->args,
                                    .on_reply = on_reply,
                                    .data = data,
                                    .pending = true,
                                    .last = call->last };
    maria->args = kept;
    if (urgent && calls->first != NULL) {
        struct hf_maria_call *after = call->last ? NULL : calls->urgent;
        call->next = after != NULL ? after->next : calls->first;
        *(after != NULL ? &after->next : &calls->first) = call;
    } else if (calls->first == NULL) {
        calls->first = call;
    } else {
        calls->last->next = call;
    }
    if (call->next == NULL)
        calls->last = call;
    if (urgent && (calls->urgent == NULL || !call->last))
        calls->urgent = call;
}

void hf_maria_send(struct hf_maria *maria, struct hf_maria_call *call, bool urgent,
                   hf_maria_on_reply *on_reply, void *data)
{
    hf_my_query_put(&maria->args, ")");
    enqueue(maria, call, urgent, on_reply, data);
    call->asks = true;
}

void hf_maria_query(struct hf_maria *maria, struct hf_maria_call *call, const char *text,
                    hf_maria_on_reply *on_reply, void *data)
{
    hf_my_query_begin(&maria->args, text);
    enqueue(maria, call, true, on_reply, data);
}

/* ---- Sending ------------------------------------------------------------------------ */

static struct hf_maria_call *shift(struct hf_maria_calls *calls)
{
    struct hf_maria_call *call = calls->first;

    calls->first = call->next;
    if (calls->first == NULL)
        calls->last = NULL;
    if (calls->urgent == call)
        calls->urgent = NULL;
    call->next = NULL;
    return call;
}

static void answer(struct hf_maria *maria, struct hf_maria_call *call,
                   const struct hf_my_reply *reply)
{
    assert(call->pending);
    call->pending = false;
    call->on_reply(maria, call->data, reply); /* the call may be gone now */
}

/* The server has undone it: a deadlock, or a lock that took too long.  Call again, ahead of
 * all others: a LEAVE must not be overtaken by the ENTER behind it. */
static void put_back(struct hf_maria_calls *calls, struct hf_maria_call *call)
{
    call->next = calls->first;
    calls->first = call;
    if (calls->last == NULL)
        calls->last = call;
    if (calls->urgent == NULL)
        calls->urgent = call;
}

static void on_wire_reply(struct hf_my_conn *conn, void *data,
                          const struct hf_my_reply *reply)
{
    struct hf_maria      *maria = (struct hf_maria *)conn->dial.store;
    struct hf_maria_call *call = data;

    assert(maria->calls.flying == call);
    maria->calls.flying = NULL;
    maria->calls.progress = maria->remote.now;
    if (reply != NULL && hf_maria_fault(maria, reply) == HF_SERVED_AGAIN) {
        put_back(&maria->calls, call);
    } else if (reply != NULL && reply->error == 0 && reply->rows == 0 && call->asks) {
        answer(maria, call, NULL);
        if (maria->main.dial.phase >= HF_DIAL_GREETING)
            hf_dial_break(&maria->main.dial,
                          "answers without a row (sql_select_limit = 0?)");
    } else {
        answer(maria, call, reply);
    }
}

void hf_maria_calls_run(struct hf_maria *maria)
{
    struct hf_maria_calls *calls = &maria->calls;

    if (maria->main.dial.phase < HF_DIAL_GREETING || calls->flying != NULL ||
        calls->first == NULL || (maria->remote.closing && !calls->first->last))
        return;
    if (calls->first->query.failed) {
        hf_dial_break(&maria->main.dial,
                      "cannot be asked: out of memory, or the text is too long");
        return;
    }
    struct hf_maria_call *call = calls->flying = shift(calls);
    if (call->sent == 0)
        call->sent = hf_now();
    hf_my_send(&maria->main, &call->wire, &call->query, on_wire_reply, call);
}

void hf_maria_calls_drop(struct hf_maria *maria)
{
    assert(maria->main.dial.phase == HF_DIAL_RESTING && maria->calls.flying == NULL);
    while (maria->calls.first != NULL) /* on_reply cannot queue more: we are RESTING */
        answer(maria, shift(&maria->calls), NULL);
}

void hf_maria_call_drop(struct hf_maria *maria, struct hf_maria_call *call)
{
    struct hf_maria_calls *calls = &maria->calls;
    struct hf_maria_call **at = &calls->first, *before = NULL;

    assert(call->pending && calls->flying != call);
    while (*at != call) {
        assert(*at != NULL); /* pending and not sent: it is in the queue */
        before = *at;
        at = &before->next;
    }
    *at = call->next;
    if (calls->last == call)
        calls->last = before;
    if (calls->urgent == call)
        calls->urgent = before;
    call->next = NULL;
    answer(maria, call, NULL);
}
