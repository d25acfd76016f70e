/* query.c - requests that belong to no hold; see engine.h.
 *
 * A query that runs out of time while it is in flight is canceled, and ends when the
 * store calls done().
 */
#include "client/engine.h"

#include <assert.h>

#define PAUSE (20 * HF_MS) /* before a retry */

static void end_query(struct hf_query *query)
{
    struct hf_query **at = &query->engine->queries;

    assert(!query->flying); /* the store is done with it */
    while (*at != query)
        at = &(*at)->next;
    *at = query->next;
    query->on_done(query);
}

/* Retry: the link broke, or the store had no time. */
static void retry_later(struct hf_query *query)
{
    struct hf_engine *engine = query->engine;

    assert(!query->over && !query->flying);
    query->after = engine->now + PAUSE;
    if (query->after < engine->soonest)
        engine->soonest = query->after;
}

static void on_query_done(struct hf_req *req)
{
    struct hf_query *query = req->data;

    hf_engine_answered(query->engine, req);
    query->flying = false;
    if (query->over && req->status == HF_ECANCELED)
        req->status = HF_ETIMEOUT;
    if (!query->over && req->status == HF_EDOWN && query->deadline > query->engine->now)
        retry_later(query);
    else
        end_query(query);
}

void hf_query_start(struct hf_query *query, struct hf_engine *engine)
{
    assert(query->on_done != NULL && !query->flying);
    query->engine = engine;
    query->flying = false;
    query->over = false;
    query->absent_since = 0;
    query->req.done = on_query_done;
    query->req.data = query;
    query->next = engine->queries;
    engine->queries = query;
    hf_time first = query->after != 0 ? query->after : query->deadline;
    if (engine->store->link != HF_LINK_UP)
        first = 0;
    if (first < engine->soonest)
        engine->soonest = first;
}

void hf_query_stop(struct hf_query *query)
{
    query->deadline = 0;
    query->engine->soonest = 0;
}

void hf_queries_send(struct hf_engine *engine)
{
    struct hf_store *store = engine->store;

    if (store->link != HF_LINK_UP)
        return;
    for (struct hf_query *query = engine->queries; query != NULL; query = query->next) {
        if (query->flying || query->after > engine->now)
            continue;
        query->flying = true;
        hf_engine_submit(engine, &query->req);
    }
}

/* Is its time over? */
static bool is_overdue(struct hf_query *query, hf_time *next)
{
    struct hf_engine *engine = query->engine;

    return engine->now >= query->deadline ||
           (query->once && !query->flying &&
            hf_engine_store_absent(engine, &query->absent_since, next));
}

hf_time hf_queries_check_time(struct hf_engine *engine)
{
    struct hf_store *store = engine->store;
    hf_time          next = HF_NEVER;

    for (struct hf_query *query = engine->queries, *after; query != NULL; query = after) {
        after = query->next;
        if (!is_overdue(query, &next)) {
            hf_time when = query->deadline;
            if (query->after > engine->now && query->after < when)
                when = query->after;
            next = when < next ? when : next;
        } else if (!query->flying) {
            /* Never sent: there was no link, or no time. */
            query->req.status = store->link == HF_LINK_UP ? HF_ETIMEOUT : HF_EDOWN;
            end_query(query);
        } else if (!query->over) {
            query->over = true;
            store->impl->cancel(store, &query->req);
        }
    }
    return next;
}
