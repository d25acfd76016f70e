/* expiry.c - end sessions that have expired; served/expiry.h says when. */
#include "store/postgres/inner.h"

#include <assert.h>

void hf_pg_expiry_renewed(struct hf_pg *pg, const PGresult *result)
{
    struct hf_expiry *plan = &pg->expiry.plan;

    assert(pg->dial.phase == HF_DIAL_READY);
    hf_expiry_renewed(plan, hf_pg_number(result, 0, 1), hf_pg_text(result, 0, 3));
    for (int row = 1; row < PQntuples(result); row++)
        hf_expiry_in_our_way(plan, hf_pg_number(result, row, 1),
                             hf_pg_number(result, row, 2));
}

static void on_swept(struct hf_pg *pg, void *data, const PGresult *result)
{
    (void)data;
    if (hf_pg_fault(pg, result) == HF_SERVED_FINE)
        hf_expiry_swept(&pg->expiry.plan, hf_pg_number(result, 0, 0), pg->remote.now);
}

static void on_expired(struct hf_pg *pg, void *data, const PGresult *result)
{
    struct hf_pg_expiry *expiry = data;
    bool                 failed = hf_pg_fault(pg, result) != HF_SERVED_FINE;
    int64_t              count = failed ? -1 : hf_pg_number(result, 0, 0);

    if (hf_expiry_ended(&expiry->plan, expiry->due, count, pg->remote.now))
        hf_pg_renew(pg);
    if (result == NULL || expiry->due != HF_EXPIRY_ROUND)
        return;
    hf_pg_begin(pg, HF_PG_SWEEP);
    hf_pg_add_number(&pg->served, HF_EXPIRY_LINES);
    hf_pg_send(pg, &expiry->call, false, on_swept, NULL);
}

static void expire_silent(struct hf_pg *pg, struct hf_pg_expiry *expiry)
{
    const struct hf_drawn *drawn = &expiry->plan.drawn;
    uint64_t               number[HF_DRAWN], age[HF_DRAWN];
    hf_time                now = hf_now();
    size_t                 count = hf_expiry_old(&expiry->plan, expiry->due, now);

    for (size_t i = 0; i < count; i++) {
        number[i] = (uint64_t)drawn->of[i].number;
        age[i] = (uint64_t)((now - drawn->of[i].when) / HF_MS);
    }
    hf_pg_begin(pg, HF_PG_EXPIRE);
    hf_pg_add(&pg->served, pg->served.sid);
    hf_pg_add(&pg->served, drawn->era);
    hf_pg_add_numbers(&pg->served, number, count);
    hf_pg_add_numbers(&pg->served, age, count);
    hf_pg_send(pg, &expiry->call, false, on_expired, expiry);
}

static bool busy(const struct hf_pg *pg)
{
    return pg->dial.phase != HF_DIAL_READY || pg->expiry.call.pending;
}

void hf_pg_expiry_run(struct hf_pg *pg)
{
    struct hf_pg_expiry *expiry = &pg->expiry;

    if (busy(pg))
        return;
    expiry->due = hf_expiry_run(&expiry->plan, pg->remote.now);
    if (expiry->due != HF_EXPIRY_NONE)
        expire_silent(pg, expiry);
}

hf_time hf_pg_expiry_wake(const struct hf_pg *pg)
{
    return busy(pg) ? HF_NEVER : hf_expiry_wake(&pg->expiry.plan);
}
