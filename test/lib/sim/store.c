/* store.c - see store.h: requests.
 *
 * submit() only queues.  process() sends requests when the link is up, and hands out
 * answers.  Requests that failed or were canceled have a list of their own, so that
 * done() is called from process() alone.
 *
 * A request that was sent ends with its answer, or with its connection or session.
 * Without a lease nobody notices that a wire loses answers, so a request on such a wire
 * does not end.
 */
#include "lib/sim/store.h"

#include "holdfast.h"

#include <assert.h>
#include <stdlib.h>

static void fail_request(struct sim_store *sim, struct hf_req *req, int status)
{
    req->status = status;
    hf_requests_append(&sim->failed, req);
}

void sim_store_fail(struct sim_store *sim, bool all)
{
    assert(sim->base.link != HF_LINK_UP); /* that is why they fail */
    while (sim->flying.first != NULL)
        fail_request(sim, hf_requests_take(&sim->flying), HF_EDOWN);
    while (all && sim->waiting.first != NULL)
        fail_request(sim, hf_requests_take(&sim->waiting), HF_EDOWN);
}

static void sim_submit(struct hf_store *store, struct hf_req *req)
{
    struct sim_store *sim = (struct sim_store *)store;

    assert(req->op != HF_NOTHING && (req->name != NULL || hf_req_may_name_none(req)));
    req->canceled = false;
    hf_requests_append(&sim->waiting, req);
    if (store->link == HF_LINK_UP)
        store->wake = 0;
}

static void sim_cancel(struct hf_store *store, struct hf_req *req)
{
    req->canceled = true;
    ((struct sim_store *)store)->cancels = true;
    store->wake = 0;
}

/* ---- Sending ---------------------------------------------------------------- */

static void send_letter(struct sim_store *sim, enum sim_message_kind kind,
                        uint64_t serial, const struct hf_req *req)
{
    struct sim_message message = { .kind = kind,
                                   .session = sim->session,
                                   .connection = sim->connection,
                                   .serial = serial };

    if (req != NULL)
        message.req = *req;
    sim_network_send(sim->wire, &message);
}

static uint64_t serial_of(const struct hf_req *req)
{
    return (uintptr_t)req->work;
}

static void send_waiting(struct sim_store *sim)
{
    struct hf_req *req;

    while (sim->base.link == HF_LINK_UP &&
           (req = hf_requests_take(&sim->waiting)) != NULL) {
        assert(sim->session != 0); /* since the link is up */
        req->work = (void *)(uintptr_t)++sim->serials;
        hf_requests_append(&sim->flying, req);
        send_letter(sim, SIM_VERB, serial_of(req), req);
    }
}

/* ---- Ending early ----------------------------------------------------------- */

static void end_canceled(struct sim_store *sim, struct hf_requests *list, bool sent)
{
    struct hf_requests all = *list;
    struct hf_req     *req;

    *list = (struct hf_requests){ 0 };
    while ((req = hf_requests_take(&all)) != NULL) {
        if (!req->canceled || !hf_req_may_end(req, sent)) {
            hf_requests_append(list, req);
            continue;
        }
        if (sent)
            send_letter(sim, SIM_FORGET, serial_of(req), NULL);
        fail_request(sim, req, HF_ECANCELED);
    }
}

/* ---- Answers ---------------------------------------------------------------- */

static void answer_failed(struct sim_store *sim)
{
    struct hf_requests all = sim->failed;
    struct hf_req     *req;

    sim->failed = (struct hf_requests){ 0 };
    while ((req = hf_requests_take(&all)) != NULL)
        req->done(req);
}

/* The request of that serial; NULL: it has failed or was canceled before. */
static struct hf_req *take_flying(struct sim_store *sim, uint64_t serial)
{
    struct hf_requests all = sim->flying;
    struct hf_req     *req, *found = NULL;

    sim->flying = (struct hf_requests){ 0 };
    while ((req = hf_requests_take(&all)) != NULL)
        if (serial_of(req) == serial)
            found = req;
        else
            hf_requests_append(&sim->flying, req);
    return found;
}

static void take_answer(struct sim_store *sim, const struct sim_message *answer,
                        hf_time now)
{
    struct hf_req *req = take_flying(sim, answer->serial);

    if (req == NULL)
        return;
    if (answer->gone) {
        hf_requests_append(&sim->flying, req); /* it fails with the others */
        sim_store_lose(sim, now);
        return;
    }
    req->status = answer->req.status;
    req->standing = answer->req.standing;
    req->stamp = answer->req.stamp;
    req->done(req);
}

static bool take_answers(struct sim_store *sim, hf_time now)
{
    const struct sim_message *answer;
    bool                      any = false;

    while ((answer = sim_network_receive(sim->wire)) != NULL) {
        any = true;
        if (!sim_store_link_take(sim, answer, now))
            take_answer(sim, answer, now);
    }
    return any;
}

/* Answers first: after a pause they may have been here before the timers were due. */
static void sim_process(struct hf_store *store, hf_time now, bool readable)
{
    struct sim_store *sim = (struct sim_store *)store;

    (void)readable; /* there is no descriptor */
    take_answers(sim, now);
    do {
        sim_store_link_run(sim, now);
        if (sim->cancels) {
            sim->cancels = false;
            end_canceled(sim, &sim->waiting, false);
            end_canceled(sim, &sim->flying, true);
        }
        answer_failed(sim);
        send_waiting(sim);
    } while (take_answers(sim, now));
    bool up = store->link == HF_LINK_UP;
    bool more =
        sim->cancels || sim->failed.first != NULL || (up && sim->waiting.first != NULL);
    store->wake = more ? 0 : sim->due;
}

/* ---- Open and close ------------------------------------------------------ */

struct hf_store *sim_store_open(struct sim_wire *wire, hf_time ttl, uint64_t seed)
{
    struct sim_store *sim = calloc(1, sizeof *sim);
    if (sim == NULL)
        abort();
    sim->base = (struct hf_store){ .impl = &sim_store_store,
                                   .fd = -1,
                                   .link = HF_LINK_DOWN,
                                   .alive_until = ttl > 0 ? 0 : HF_NEVER };
    sim->wire = wire;
    sim->ttl = ttl;
    hf_retry_init(&sim->retry, ttl > 0 ? ttl / 30 + 1 : HF_MS,
                  ttl > 0 ? ttl / 6 + 1 : HF_SEC, seed);
    return &sim->base;
}

static void sim_close(struct hf_store *store)
{
    struct sim_store *sim = (struct sim_store *)store;

    if (store->link == HF_LINK_UP)
        send_letter(sim, SIM_BYE, 0, NULL);
    sim_network_close(sim->wire);
    free(sim);
}

const struct hf_store_impl sim_store_store = {
    .scheme = "sim",
    .close = sim_close,
    .submit = sim_submit,
    .cancel = sim_cancel,
    .process = sim_process,
};
