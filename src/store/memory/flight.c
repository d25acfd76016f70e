/* flight.c - requests on their way: waiting, in flight, answered.
 *
 * submit() only queues.  process() sends what waits once the link is up, and
 * hands out answers; a request that failed or was canceled passes through a
 * list of its own, so that done() is never called from inside anything else.
 */
#include "store/memory/client.h"

#include "holdfast.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

static void fail_request(struct hf_memory *memory, struct hf_req *req, int status)
{
    req->status = status;
    hf_requests_append(&memory->failed, req);
}

void hf_memory_fail(struct hf_memory *memory, bool all)
{
    assert(memory->base.link != HF_LINK_UP); /* that is why they fail */
    for (size_t i = 0; i < memory->room; i++) {
        if (memory->flight[i].serial == 0)
            continue;
        memory->flight[i].serial = 0;
        fail_request(memory, memory->flight[i].req, HF_EDOWN);
    }
    while (all && memory->waiting.first != NULL)
        fail_request(memory, hf_requests_take(&memory->waiting), HF_EDOWN);
}

void hf_memory_submit(struct hf_store *store, struct hf_req *req)
{
    struct hf_memory *memory = (struct hf_memory *)store;

    assert(req->op != HF_NOTHING && (req->name != NULL || hf_req_may_name_none(req)));
    req->canceled = false;
    hf_requests_append(&memory->waiting, req);
    if (store->link == HF_LINK_UP)
        store->wake = 0;
}

void hf_memory_cancel(struct hf_store *store, struct hf_req *req)
{
    req->canceled = true;
    ((struct hf_memory *)store)->cancels = true;
    store->wake = 0;
}

/* ---- Sending ---------------------------------------------------------------- */

static struct hf_flight *free_flight(struct hf_memory *memory)
{
    for (size_t i = 0; i < memory->room; i++)
        if (memory->flight[i].serial == 0)
            return &memory->flight[i];

    size_t            room = memory->room > 0 ? memory->room * 2 : 8;
    struct hf_flight *grown = realloc(memory->flight, room * sizeof *grown);
    if (grown == NULL)
        return NULL;
    assert(room < HF_MEMORY_BEAT);
    for (size_t i = memory->room; i < room; i++)
        grown[i] = (struct hf_flight){ 0 };
    memory->flight = grown;

    struct hf_flight *flight = &grown[memory->room];
    memory->room = room;
    return flight;
}

static void send_call(struct hf_memory *memory, enum hf_call_kind kind, uint64_t serial,
                      const struct hf_req *req, hf_time now)
{
    struct hf_call call = { .kind = kind,
                            .session = memory->session,
                            .connection = memory->connection,
                            .serial = serial,
                            .req = req };

    memory->wire->send(memory->wire, &call, now);
}

/* Send what has waited longest.  False if there is nothing to send. */
static bool send_next(struct hf_memory *memory, hf_time now)
{
    if (memory->base.link != HF_LINK_UP || memory->waiting.first == NULL)
        return false;

    assert(memory->session != 0); /* as the link is up */
    struct hf_req    *req = hf_requests_take(&memory->waiting);
    struct hf_flight *flight = free_flight(memory);
    if (flight == NULL) {
        fail_request(memory, req, HF_ENOMEM);
        return true;
    }
    flight->req = req;
    flight->sent = now;
    flight->serial = hf_memory_serial(memory, (size_t)(flight - memory->flight));
    send_call(memory, HF_CALL_VERB, flight->serial, req, now);
    return true;
}

/* ---- Ending early ----------------------------------------------------------- */

static void end_waiting(struct hf_memory *memory)
{
    struct hf_requests all = memory->waiting;
    struct hf_req     *req;

    memory->waiting = (struct hf_requests){ 0 };
    while ((req = hf_requests_take(&all)) != NULL) {
        if (req->canceled && hf_req_may_end(req, false))
            fail_request(memory, req, HF_ECANCELED);
        else
            hf_requests_append(&memory->waiting, req);
    }
}

static void end_canceled(struct hf_memory *memory, hf_time now)
{
    if (!memory->cancels)
        return;
    memory->cancels = false;
    end_waiting(memory);
    for (size_t i = 0; i < memory->room; i++) {
        struct hf_flight *flight = &memory->flight[i];
        if (flight->serial == 0 || !flight->req->canceled ||
            !hf_req_may_end(flight->req, true))
            continue;
        send_call(memory, HF_CALL_FORGET, flight->serial, NULL, now);
        flight->serial = 0;
        fail_request(memory, flight->req, HF_ECANCELED);
    }
}

/* ---- Answers ---------------------------------------------------------------- */

static void finish_request(struct hf_memory *memory, struct hf_req *req)
{
    char  *errmsg = memory->base.errmsg;
    size_t size = sizeof memory->base.errmsg;

    if (req->status == HF_EFULL)
        snprintf(errmsg, size, "as many wait for \"%.128s\" as the limit of %u allows",
                 req->name, req->limit);
    else if (req->status < 0 && req->status != HF_EDOWN)
        snprintf(errmsg, size, "%s", hf_strerror(req->status));
    req->done(req);
}

static void answer_failed(struct hf_memory *memory)
{
    struct hf_requests all = memory->failed;
    struct hf_req     *req;

    memory->failed = (struct hf_requests){ 0 };
    while ((req = hf_requests_take(&all)) != NULL) {
        req->line = (struct hf_line){ 0 };
        req->findings = 0;
        finish_request(memory, req);
    }
}

static void take_answer(struct hf_memory *memory, const struct hf_answer *answer,
                        hf_time now)
{
    size_t            index = answer->serial & HF_MEMORY_BEAT;
    struct hf_flight *flight = index < memory->room ? &memory->flight[index] : NULL;

    if (flight == NULL || flight->serial != answer->serial)
        return; /* late: its request has failed or was canceled */
    assert(flight->req != NULL && flight->serial != 0);
    if (answer->gone) {
        hf_memory_lose(memory, now);
        return;
    }
    struct hf_req *req = flight->req;
    flight->serial = 0;
    req->status = answer->status;
    req->standing = answer->standing;
    if (req->op == HF_LIST)
        req->line = (struct hf_line){ answer->ticket, answer->count };
    if (req->op == HF_LIST || req->op == HF_ENTER)
        req->stamp = answer->stamp;
    if (req->op == HF_EXAMINE) {
        req->finding = answer->findings.finding;
        req->findings = answer->findings.count;
    }
    if (req->op == HF_PROVE && req->id != 0 && req->status == 0 && memory->ttl > 0)
        hf_memory_extend(memory, flight->sent);
    finish_request(memory, req);
}

static bool take_answers(struct hf_memory *memory, hf_time now)
{
    const struct hf_answer *answer;
    bool                    any = false;

    while ((answer = memory->wire->receive(memory->wire, now)) != NULL) {
        any = true;
        if (!hf_memory_link_take(memory, answer, now))
            take_answer(memory, answer, now);
    }
    return any;
}

static hf_time next_wake(const struct hf_memory *memory)
{
    bool    up = memory->base.link == HF_LINK_UP;
    hf_time next = memory->wire->next(memory->wire);

    if (memory->cancels || memory->failed.first != NULL ||
        (up && memory->waiting.first != NULL))
        return 0;
    return memory->due < next ? memory->due : next;
}

/* After each call the answers are read: a wire may keep no more than one. */
void hf_memory_process(struct hf_store *store, hf_time now, bool readable)
{
    struct hf_memory *memory = (struct hf_memory *)store;

    if (readable)
        memory->wire->quiet(memory->wire);
    /* Before the timers: after a pause they may have been here all the time. */
    take_answers(memory, now);
    do {
        hf_memory_link_run(memory, now);
        take_answers(memory, now);
        end_canceled(memory, now);
        answer_failed(memory);
        while (send_next(memory, now))
            take_answers(memory, now);
    } while (take_answers(memory, now));
    store->wake = next_wake(memory);
}
