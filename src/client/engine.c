/* engine.c - see engine.h. */
#include "client/engine.h"

#include <assert.h>

/* A longer turn stops to give other threads a chance, and is called again. */
#define ROUNDS 64

#define ASK_AGAIN (50 * HF_MS) /* whether all servers are absent */

bool hf_engine_store_absent(const struct hf_engine *engine, hf_time *since, hf_time *next)
{
    if (engine->store->link == HF_LINK_UP) {
        *since = 0;
        return false;
    }
    if (*since == 0)
        *since = engine->now;
    assert(*since <= engine->now);
    hf_time end = *since + HF_ABSENCE;
    if (engine->now >= end && engine->store->absences > 0)
        return true;
    hf_time again = engine->now < end ? end : engine->now + ASK_AGAIN;
    if (again < *next)
        *next = again;
    return false;
}

void hf_histogram_add(struct hf_histogram *histogram, hf_time took)
{
    uint64_t us = took > 0 ? (uint64_t)took / 1000 : 0;
    unsigned bucket = 0;

    while (bucket < HF_BUCKETS - 1 && us >> bucket != 0)
        bucket++;
    assert(bucket < HF_BUCKETS);
    histogram->bucket[bucket]++;
    histogram->count++;
    histogram->total_us += us;
    if (us > histogram->max_us)
        histogram->max_us = us;
}

static void on_link(struct hf_store *store, void *data)
{
    struct hf_engine *engine = data;

    engine->soonest = 0; /* requests that are sent only once check for an absent store */
    engine->losses += store->link == HF_LINK_LOST;
    engine->connects += store->link == HF_LINK_UP;
    if (store->link == HF_LINK_UP && engine->on_up != NULL)
        engine->on_up(engine->on_up_data);
    for (struct hf_job *job = engine->jobs, *next; job != NULL; job = next) {
        next = job->next; /* it may be wanted again, and so move to the end */
        if (store->link == HF_LINK_LOST)
            hf_job_step(job, &(struct hf_event){ .what = HF_GONE });
        job->again = 0; /* a new link is a new chance */
        hf_job_mark_dirty(job);
    }
}

void hf_engine_init(struct hf_engine *engine, struct hf_store *store, uint64_t seed)
{
    *engine = (struct hf_engine){ .store = store, .seed = seed, .soonest = HF_NEVER };
    engine->last_job = &engine->jobs;
    engine->last_dirty = &engine->dirty;
    engine->connects = store->link == HF_LINK_UP; /* a file needs no connecting */
    store->on_link = on_link;
    store->on_link_data = engine;
}

void hf_engine_submit(struct hf_engine *engine, struct hf_req *req)
{
    req->sent = engine->clock != NULL ? engine->clock() : 0;
    engine->store->impl->submit(engine->store, req);
}

/* A watch waits for an event: its time says nothing about the store. */
void hf_engine_answered(struct hf_engine *engine, const struct hf_req *req)
{
    bool waits = req->op == HF_WATCH || req->op == HF_WATCH_STORE;

    if (req->sent != 0 && !waits && req->status != HF_ECANCELED &&
        req->status != HF_EDOWN)
        hf_histogram_add(&engine->round_trip, engine->clock() - req->sent);
}

static void set_timer(struct hf_engine *engine, hf_time when)
{
    if (when < engine->soonest)
        engine->soonest = when;
}

/* Run every timer that is due; remember the next one. */
static void run_timers(struct hf_engine *engine)
{
    engine->soonest = HF_NEVER;
    for (struct hf_job *job = engine->jobs, *next; job != NULL; job = next) {
        next = job->next;
        set_timer(engine, hf_job_check_time(job));
    }
    set_timer(engine, hf_queries_check_time(engine));
}

static bool timers_are_due(const struct hf_engine *engine)
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
    hf_queries_send(engine);
}

void hf_engine_turn(struct hf_engine *engine, hf_time now, bool readable)
{
    struct hf_store *store = engine->store;

    assert(now >= engine->now);
    engine->now = now;
    for (int round = 0; round < ROUNDS; round++) {
        if (timers_are_due(engine))
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
