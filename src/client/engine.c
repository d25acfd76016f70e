/* engine.c - see engine.h. */
#include "client/engine.h"

#include "client/errand.h"
#include "client/histogram.h"
#include "client/job.h"
#include "holdfast.h"

#include <assert.h>

/* A turn that goes on longer gives others a chance; it is called again. */
#define ROUNDS 64

#define GLANCE (50 * HF_MS)

bool hf_engine_in_vain(const struct hf_engine *engine, hf_time *missed, hf_time *next)
{
    if (engine->store->link == HF_LINK_UP) {
        *missed = 0;
        return false;
    }
    if (*missed == 0)
        *missed = engine->now;
    assert(*missed <= engine->now);
    hf_time end = *missed + HF_ABSENCE;
    if (engine->now >= end && engine->store->absences > 0)
        return true;
    hf_time again = engine->now < end ? end : engine->now + GLANCE;
    if (again < *next)
        *next = again;
    return false;
}

static void on_link(struct hf_store *store, void *data)
{
    struct hf_engine *engine = data;

    engine->soonest = 0; /* a request that is sent once may be in vain */
    engine->losses += store->link == HF_LINK_LOST;
    engine->connects += store->link == HF_LINK_UP;
    if (store->link == HF_LINK_UP && engine->on_up != NULL)
        engine->on_up(engine->on_up_data);
    for (struct hf_job *job = engine->jobs, *next; job != NULL; job = next) {
        next = job->next; /* it may wish again, and so come last */
        if (store->link == HF_LINK_LOST)
            hf_job_tell(job, &(struct hf_event){ .what = HF_GONE });
        job->again = 0; /* a new link is a new chance */
        hf_job_soil(job);
    }
}

void hf_engine_init(struct hf_engine *engine, struct hf_store *store, uint64_t seed)
{
    *engine = (struct hf_engine){ .store = store, .seed = seed, .soonest = HF_NEVER };
    engine->last_job = &engine->jobs;
    engine->last_dirty = &engine->dirty;
    engine->connects = store->link == HF_LINK_UP; /* a file is there from the start */
    store->on_link = on_link;
    store->on_link_data = engine;
}

void hf_engine_submit(struct hf_engine *engine, struct hf_req *req)
{
    req->sent = engine->clock != NULL ? engine->clock() : 0;
    engine->store->impl->submit(engine->store, req);
}

/* What waits for something to happen says nothing about the store. */
void hf_engine_answered(struct hf_engine *engine, const struct hf_req *req)
{
    bool waits = req->op == HF_WATCH || req->op == HF_SURVEY;

    if (req->sent != 0 && !waits && req->status != HF_ECANCELED &&
        req->status != HF_EDOWN)
        hf_histogram_add(&engine->round_trip, engine->clock() - req->sent);
}

static void plan(struct hf_engine *engine, hf_time when)
{
    if (when < engine->soonest)
        engine->soonest = when;
}

/* Look at every timer; remember the next one. */
static void run_timers(struct hf_engine *engine)
{
    engine->soonest = HF_NEVER;
    for (struct hf_job *job = engine->jobs, *next; job != NULL; job = next) {
        next = job->next;
        plan(engine, hf_job_check_time(job));
    }
    plan(engine, hf_errands_check_time(engine));
}

static bool due(const struct hf_engine *engine)
{
    return engine->now >= engine->soonest || engine->now >= engine->store->alive_until;
}

static void send_needed(struct hf_engine *engine)
{
    while (engine->dirty != NULL) {
        struct hf_job *job = engine->dirty;
        engine->dirty = job->next_dirty;
        if (engine->dirty == NULL)
            engine->last_dirty = &engine->dirty;
        assert(job->is_dirty);
        job->is_dirty = false;
        hf_job_reconcile(job);
    }
    hf_errands_send(engine);
}

void hf_engine_turn(struct hf_engine *engine, hf_time now, bool readable)
{
    struct hf_store *store = engine->store;

    assert(now >= engine->now);
    engine->now = now;
    for (int round = 0; round < ROUNDS; round++) {
        if (due(engine))
            run_timers(engine);
        send_needed(engine);
        if (!readable && store->wake > now && engine->dirty == NULL)
            return;
        store->impl->process(store, now, readable);
        readable = false;
    }
}

hf_time hf_engine_wake(const struct hf_engine *engine)
{
    hf_time wake = engine->soonest;

    if (engine->dirty != NULL)
        return 0;
    if (engine->store->wake < wake)
        wake = engine->store->wake;
    /* Past the deadline nothing is held any more, so there is no need to wake
     * for it again and again. */
    if (engine->store->alive_until > engine->now && engine->store->alive_until < wake)
        wake = engine->store->alive_until;
    return wake;
}
