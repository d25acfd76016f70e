/* far.c - see far.h: requests on their way.
 *
 * submit() only queues.  process() sends what waits once the link is up, and
 * hands out answers; a request that failed or was canceled passes through a
 * list of its own, so that done() is never called from inside anything else.
 */
#include "lib/far.h"

#include "holdfast.h"

#include <assert.h>
#include <stdlib.h>

static void fail_request(struct far *far, struct hf_req *req, int status)
{
    req->status = status;
    hf_requests_append(&far->failed, req);
}

void far_fail(struct far *far, bool all)
{
    assert(far->base.link != HF_LINK_UP); /* that is why they fail */
    for (size_t i = 0; i < far->room; i++) {
        if (far->flight[i].serial == 0)
            continue;
        far->flight[i].serial = 0;
        fail_request(far, far->flight[i].req, HF_EDOWN);
    }
    while (all && far->waiting.first != NULL)
        fail_request(far, hf_requests_take(&far->waiting), HF_EDOWN);
}

static void far_submit(struct hf_store *store, struct hf_req *req)
{
    struct far *far = (struct far *)store;

    assert(req->op != HF_NOTHING && (req->name != NULL || hf_req_may_name_none(req)));
    req->canceled = false;
    hf_requests_append(&far->waiting, req);
    if (store->link == HF_LINK_UP)
        store->wake = 0;
}

static void far_cancel(struct hf_store *store, struct hf_req *req)
{
    req->canceled = true;
    ((struct far *)store)->cancels = true;
    store->wake = 0;
}

/* ---- Sending ---------------------------------------------------------------- */

static struct far_flight *free_flight(struct far *far)
{
    for (size_t i = 0; i < far->room; i++)
        if (far->flight[i].serial == 0)
            return &far->flight[i];

    size_t             room = far->room > 0 ? far->room * 2 : 8;
    struct far_flight *grown = realloc(far->flight, room * sizeof *grown);
    if (grown == NULL)
        return NULL;
    assert(room < FAR_BEAT);
    for (size_t i = far->room; i < room; i++)
        grown[i] = (struct far_flight){ 0 };
    far->flight = grown;

    struct far_flight *flight = &grown[far->room];
    far->room = room;
    return flight;
}

static void send_letter(struct far *far, enum net_kind kind, uint64_t serial,
                        const struct hf_req *req)
{
    struct net_letter letter = { .kind = kind,
                                 .session = far->session,
                                 .connection = far->connection,
                                 .serial = serial };

    if (req != NULL)
        letter.req = *req;
    net_send(far->wire, &letter);
}

/* Send what has waited longest.  False if there is nothing to send. */
static bool send_next(struct far *far)
{
    if (far->base.link != HF_LINK_UP || far->waiting.first == NULL)
        return false;

    assert(far->session != 0); /* as the link is up */
    struct hf_req     *req = hf_requests_take(&far->waiting);
    struct far_flight *flight = free_flight(far);
    if (flight == NULL) {
        fail_request(far, req, HF_ENOMEM);
        return true;
    }
    flight->req = req;
    flight->serial = far_serial(far, (size_t)(flight - far->flight));
    send_letter(far, NET_VERB, flight->serial, req);
    return true;
}

/* ---- Ending early ----------------------------------------------------------- */

static void end_waiting(struct far *far)
{
    struct hf_requests all = far->waiting;
    struct hf_req     *req;

    far->waiting = (struct hf_requests){ 0 };
    while ((req = hf_requests_take(&all)) != NULL) {
        if (req->canceled && hf_req_may_end(req, false))
            fail_request(far, req, HF_ECANCELED);
        else
            hf_requests_append(&far->waiting, req);
    }
}

static void end_canceled(struct far *far)
{
    if (!far->cancels)
        return;
    far->cancels = false;
    end_waiting(far);
    for (size_t i = 0; i < far->room; i++) {
        struct far_flight *flight = &far->flight[i];
        if (flight->serial == 0 || !flight->req->canceled ||
            !hf_req_may_end(flight->req, true))
            continue;
        send_letter(far, NET_FORGET, flight->serial, NULL);
        flight->serial = 0;
        fail_request(far, flight->req, HF_ECANCELED);
    }
}

/* ---- Answers ---------------------------------------------------------------- */

static void answer_failed(struct far *far)
{
    struct hf_requests all = far->failed;
    struct hf_req     *req;

    far->failed = (struct hf_requests){ 0 };
    while ((req = hf_requests_take(&all)) != NULL)
        req->done(req);
}

static void take_answer(struct far *far, const struct net_letter *answer, hf_time now)
{
    size_t             index = answer->serial & FAR_BEAT;
    struct far_flight *flight = index < far->room ? &far->flight[index] : NULL;

    if (flight == NULL || flight->serial != answer->serial)
        return; /* late: its request has failed or was canceled */
    assert(flight->req != NULL && flight->serial != 0);
    if (answer->gone) {
        far_lose(far, now);
        return;
    }
    struct hf_req *req = flight->req;
    flight->serial = 0;
    req->status = answer->req.status;
    req->standing = answer->req.standing;
    req->stamp = answer->req.stamp;
    req->done(req);
}

static bool take_answers(struct far *far, hf_time now)
{
    const struct net_letter *answer;
    bool                     any = false;

    while ((answer = net_receive(far->wire)) != NULL) {
        any = true;
        if (!far_link_take(far, answer, now))
            take_answer(far, answer, now);
    }
    return any;
}

/* Before the timers come the answers: after a pause they may have been here all the time. */
static void far_process(struct hf_store *store, hf_time now, bool readable)
{
    struct far *far = (struct far *)store;

    (void)readable; /* there is no descriptor */
    take_answers(far, now);
    do {
        far_link_run(far, now);
        end_canceled(far);
        answer_failed(far);
        while (send_next(far))
            ;
    } while (take_answers(far, now));
    bool up = store->link == HF_LINK_UP;
    bool more =
        far->cancels || far->failed.first != NULL || (up && far->waiting.first != NULL);
    store->wake = more ? 0 : far->due;
}

/* ---- Both ends of its life ------------------------------------------------------ */

struct hf_store *far_open(struct net_wire *wire, hf_time ttl, uint64_t seed)
{
    struct far *far = calloc(1, sizeof *far);
    if (far == NULL)
        abort();
    far->base = (struct hf_store){ .impl = &far_store,
                                   .fd = -1,
                                   .link = HF_LINK_DOWN,
                                   .alive_until = ttl > 0 ? 0 : HF_NEVER };
    far->wire = wire;
    far->ttl = ttl;
    hf_retry_init(&far->retry, ttl > 0 ? ttl / 30 + 1 : HF_MS,
                  ttl > 0 ? ttl / 6 + 1 : HF_SEC, seed);
    return &far->base;
}

static void far_close(struct hf_store *store)
{
    struct far *far = (struct far *)store;

    if (store->link == HF_LINK_UP)
        send_letter(far, NET_BYE, 0, NULL);
    net_close(far->wire);
    free(far->flight);
    free(far);
}

const struct hf_store_impl far_store = {
    .scheme = "far",
    .close = far_close,
    .submit = far_submit,
    .cancel = far_cancel,
    .process = far_process,
};
