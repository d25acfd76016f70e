/* far.c - see far.h: requests on their way.
 *
 * submit() only queues.  process() sends what waits once the link is up, and
 * hands out answers; a request that failed or was canceled passes through a
 * list of its own, so that done() is never called from inside anything else.
 *
 * A request that was sent ends with its answer, or with the wire or session that it was
 * sent on.  Without a lease nobody notices that a wire loses answers: what was sent on such
 * a wire does not end.
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
    while (far->flying.first != NULL)
        fail_request(far, hf_requests_take(&far->flying), HF_EDOWN);
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

static uint64_t serial_of(const struct hf_req *req)
{
    return (uintptr_t)req->work;
}

static void send_waiting(struct far *far)
{
    struct hf_req *req;

    while (far->base.link == HF_LINK_UP &&
           (req = hf_requests_take(&far->waiting)) != NULL) {
        assert(far->session != 0); /* as the link is up */
        req->work = (void *)(uintptr_t)++far->serials;
        hf_requests_append(&far->flying, req);
        send_letter(far, NET_VERB, serial_of(req), req);
    }
}

/* ---- Ending early ----------------------------------------------------------- */

static void end_canceled(struct far *far, struct hf_requests *list, bool sent)
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
            send_letter(far, NET_FORGET, serial_of(req), NULL);
        fail_request(far, req, HF_ECANCELED);
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

/* The request of that serial; NULL: the answer is late, it has failed or was canceled. */
static struct hf_req *take_flying(struct far *far, uint64_t serial)
{
    struct hf_requests all = far->flying;
    struct hf_req     *req, *found = NULL;

    far->flying = (struct hf_requests){ 0 };
    while ((req = hf_requests_take(&all)) != NULL)
        if (serial_of(req) == serial)
            found = req;
        else
            hf_requests_append(&far->flying, req);
    return found;
}

static void take_answer(struct far *far, const struct net_letter *answer, hf_time now)
{
    struct hf_req *req = take_flying(far, answer->serial);

    if (req == NULL)
        return;
    if (answer->gone) {
        hf_requests_append(&far->flying, req); /* it fails with the others */
        far_lose(far, now);
        return;
    }
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
        if (far->cancels) {
            far->cancels = false;
            end_canceled(far, &far->waiting, false);
            end_canceled(far, &far->flying, true);
        }
        answer_failed(far);
        send_waiting(far);
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
    free(far);
}

const struct hf_store_impl far_store = {
    .scheme = "far",
    .close = far_close,
    .submit = far_submit,
    .cancel = far_cancel,
    .process = far_process,
};
