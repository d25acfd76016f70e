/* errand.c - requests that belong to no hold; see engine.h.
 *
 * An errand that runs out of time while it is in flight is canceled, and ends
 * when the store has let go of it.
 */
#include "client/errand.h"

#include "holdfast.h"

#include <assert.h>

#define PAUSE (20 * HF_MS) /* before it is sent again */

static void end_errand(struct hf_errand *errand)
{
    struct hf_errand **at = &errand->engine->errands;

    assert(!errand->flying); /* the store has let go of it */
    while (*at != errand)
        at = &(*at)->next;
    *at = errand->next;
    errand->on_done(errand);
}

/* The link broke under it, or the store had no time: again, while there is time. */
static void send_later(struct hf_errand *errand)
{
    struct hf_engine *engine = errand->engine;

    assert(!errand->over && !errand->flying);
    errand->after = engine->now + PAUSE;
    if (errand->after < engine->soonest)
        engine->soonest = errand->after;
}

static void on_errand_done(struct hf_req *req)
{
    struct hf_errand *errand = req->data;

    hf_engine_answered(errand->engine, req);
    errand->flying = false;
    if (errand->over && req->status == HF_ECANCELED)
        req->status = HF_ETIMEOUT;
    if (!errand->over && req->status == HF_EDOWN &&
        errand->deadline > errand->engine->now)
        send_later(errand);
    else
        end_errand(errand);
}

void hf_errand_start(struct hf_errand *errand, struct hf_engine *engine)
{
    assert(errand->on_done != NULL && !errand->flying);
    errand->engine = engine;
    errand->flying = false;
    errand->over = false;
    errand->missed = 0;
    errand->req.done = on_errand_done;
    errand->req.data = errand;
    errand->next = engine->errands;
    engine->errands = errand;
    hf_time first = errand->after != 0 ? errand->after : errand->deadline;
    if (engine->store->link != HF_LINK_UP)
        first = 0;
    if (first < engine->soonest)
        engine->soonest = first;
}

void hf_errand_stop(struct hf_errand *errand)
{
    errand->deadline = 0;
    errand->engine->soonest = 0;
}

void hf_errands_send(struct hf_engine *engine)
{
    struct hf_store *store = engine->store;

    if (store->link != HF_LINK_UP)
        return;
    for (struct hf_errand *errand = engine->errands; errand != NULL;
         errand = errand->next) {
        if (errand->flying || errand->after > engine->now)
            continue;
        errand->flying = true;
        hf_engine_submit(engine, &errand->req);
    }
}

/* Is its time over? */
static bool is_late(struct hf_errand *errand, hf_time *next)
{
    struct hf_engine *engine = errand->engine;

    return engine->now >= errand->deadline ||
           (errand->once && !errand->flying &&
            hf_engine_in_vain(engine, &errand->missed, next));
}

hf_time hf_errands_check_time(struct hf_engine *engine)
{
    struct hf_store *store = engine->store;
    hf_time          next = HF_NEVER;

    for (struct hf_errand *errand = engine->errands, *after; errand != NULL;
         errand = after) {
        after = errand->next;
        if (!is_late(errand, &next)) {
            hf_time when = errand->deadline;
            if (errand->after > engine->now && errand->after < when)
                when = errand->after;
            next = when < next ? when : next;
        } else if (!errand->flying) {
            /* Not even sent: there was no link, or no time. */
            errand->req.status = store->link == HF_LINK_UP ? HF_ETIMEOUT : HF_EDOWN;
            end_errand(errand);
        } else if (!errand->over) {
            errand->over = true;
            store->impl->cancel(store, &errand->req);
        }
    }
    return next;
}
