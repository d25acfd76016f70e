/* queue.c - calls that wait to be sent, in their order.
 *
 *     hf_pg_send --> queue --sent--> flight --answered--> on_result
 *                      ^                |
 *                      +--a step of it--+    it was prepared, or has to be sent again
 *
 * Urgent calls go first.  A call that has to be sent again goes ahead of all that were
 * never sent.  But the calls that were sent behind it have run meanwhile: an ENTER may
 * have found the place that this call was to release.  So such ENTERs are sent again
 * behind it; a repeat finds its place.
 *
 * During close only bye is sent.
 */
#include "store/postgres/inner.h"

#include <assert.h>
#include <stdlib.h>

#define ROOM_KEPT (64 * 1024) /* larger buffers are not reused */

void hf_pg_calls_append(struct hf_pg_calls *calls, struct hf_pg_call *call)
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

struct hf_pg_call *hf_pg_calls_shift(struct hf_pg_calls *calls)
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

/* An urgent call goes behind other urgent ones, any other call to the end.  Calls that
 * were sent before stay ahead of all but bye. */
static void enqueue_call(struct hf_pg_calls *queue, struct hf_pg_call *call)
{
    struct hf_pg_call **at = &queue->first;

    if (!call->urgent) {
        hf_pg_calls_append(queue, call);
        return;
    }
    while (*at != NULL && call->function != HF_PG_BYE &&
           ((*at)->urgent || (*at)->sent != 0))
        at = &(*at)->next;
    insert_call(queue, at, call);
}

void hf_pg_calls_put_back(struct hf_pg *pg, struct hf_pg_call *call, bool next)
{
    struct hf_pg_calls *queue = &pg->link.queue;
    struct hf_pg_call **at = &queue->first;

    assert(call->pending && call->sent != 0);
    if (pg->remote.closing) {
        hf_pg_calls_append(queue, call);
        return;
    }
    while (!next && *at != NULL && (*at)->sent != 0)
        at = &(*at)->next;
    insert_call(queue, at, call);
}

bool hf_pg_calls_overtaken(const struct hf_pg_calls *queue, const struct hf_pg_call *call)
{
    return call->function == HF_PG_ENTER && !call->plain && queue->first != NULL &&
           queue->first->sent != 0 && queue->first->number < call->number;
}

/* Move the arguments into the call, and queue it. */
static void queue_args(struct hf_pg *pg, struct hf_pg_call *call, bool urgent, bool plain,
                       hf_pg_on_result *on_result, void *data)
{
    struct hf_pg_args *args = &pg->args;

    assert(pg->dial.phase >= HF_DIAL_GREETING && !call->pending);
    *call = (struct hf_pg_call){ .function = args->function,
                                 .params = args->text,
                                 .room = args->room,
                                 .count = args->failed ? -1 : args->count,
                                 .nulls = args->nulls,
                                 .on_result = on_result,
                                 .data = data,
                                 .pending = true,
                                 .urgent = urgent,
                                 .plain = plain };
    args->text = NULL;
    args->room = 0;
    enqueue_call(&pg->link.queue, call);
}

void hf_pg_send(struct hf_pg *pg, struct hf_pg_call *call, bool urgent,
                hf_pg_on_result *on_result, void *data)
{
    assert(pg->args.count == hf_pg_function_count(pg->args.function));
    queue_args(pg, call, urgent, false, on_result, data);
}

void hf_pg_query(struct hf_pg *pg, struct hf_pg_call *call, const char *text,
                 hf_pg_on_result *on_result, void *data)
{
    hf_pg_begin(pg, HF_PG_FUNCTIONS);
    hf_pg_add(&pg->served, text);
    queue_args(pg, call, false, true, on_result, data);
}

/* Keep the buffer for the next call. */
static void recycle_buffer(struct hf_pg_args *args, struct hf_pg_call *call)
{
    if (args->text == NULL && call->room <= ROOM_KEPT) {
        args->text = call->params;
        args->room = call->room;
    } else {
        free(call->params);
    }
    call->params = NULL;
}

void hf_pg_call_answer(struct hf_pg *pg, struct hf_pg_call *call, const PGresult *result)
{
    assert(call->pending);
    recycle_buffer(&pg->args, call);
    call->next = NULL;
    call->pending = false;
    call->on_result(pg, call->data, result); /* the call may be gone now */
}

void hf_pg_calls_drop(struct hf_pg *pg)
{
    struct hf_pg_link *link = &pg->link;

    assert(pg->dial.phase == HF_DIAL_RESTING && link->conn == NULL);
    PQclear(link->result);
    link->result = NULL;
    while (link->flight.first != NULL)
        hf_pg_call_answer(pg, hf_pg_calls_shift(&link->flight), NULL);
    while (link->queue.first != NULL) /* on_result cannot queue more: we are RESTING */
        hf_pg_call_answer(pg, hf_pg_calls_shift(&link->queue), NULL);
}

void hf_pg_call_drop(struct hf_pg *pg, struct hf_pg_call *call)
{
    struct hf_pg_calls *queue = &pg->link.queue;
    struct hf_pg_call **at = &queue->first, *before = NULL;

    assert(call->pending && call->sent == 0);
    while (*at != call) {
        assert(*at != NULL); /* pending and not sent: it is in the queue */
        before = *at;
        at = &before->next;
    }
    *at = call->next;
    if (queue->last == call)
        queue->last = before;
    queue->count--;
    hf_pg_call_answer(pg, call, NULL);
}
