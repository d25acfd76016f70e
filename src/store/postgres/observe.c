/* observe.c - who is dead.
 *
 * No time of day decides.  Every renewal, and every hello, draws a number that is higher
 * than all before, and we remember when we had ours.  A session whose number is lower
 * than one of ours was renewed before we had that.  If that is longer ago than its ttl,
 * by our clock, the session is dead.  So the time of everybody in our way runs from the
 * beginning, whether we have seen them or not, and the server buries all dead sessions
 * at once.
 *
 * Renewals tell when to call for that: they show the leases at the head of the lines
 * that we wait for.  Sessions in nobody's way are buried now and then.
 *
 * A server that has lost what was committed last may draw numbers again: a standby that
 * did not know of it, or one that was started with the data of a snapshot.  So each number
 * comes with its era, the run of the server it was drawn in, and counts in no other.  After
 * a plain restart all of us begin to count anew, which takes a ttl and is never wrong.
 */
#include "store/postgres/inner.h"

#include "base/random.h"
#include "core/lease.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define TTL_LEAST   (500 * HF_MS)
#define TTL_MOST    (3600 * HF_SEC)
#define ROUND_LEAST HF_SEC
#define ROUND_MOST  (60 * HF_SEC)
#define ROUND_SOON  (200 * HF_MS) /* there is more to sweep */
#define LINES       1000          /* swept in a round */
#define AGAIN       20            /* so many times in a ttl a burial may fail */

static hf_time within(hf_time value, hf_time least, hf_time most)
{
    return value < least ? least : value > most ? most : value;
}

static void plan_round(struct hf_pg *pg, bool soon)
{
    hf_time pause = within(pg->config.ttl, ROUND_LEAST, ROUND_MOST);

    pause += (hf_time)(hf_random() % (uint64_t)(pause / 2)); /* not all at once */
    pg->observe.round = pg->remote.now + (soon ? ROUND_SOON : pause);
}

void hf_pg_observe_init(struct hf_pg *pg)
{
    pg->observe.alarm = HF_NEVER;
    pg->remote.now = hf_now();
    plan_round(pg, false);
}

/* ---- Numbers -------------------------------------------------------------------- */

/* One goes: the oldest if the next is old enough for every lease, else the one whose
 * neighbours are closest to each other for its age.  So they go far back however often we
 * draw, and the gaps grow with the age.  To have fewer makes us later, never wrong. */
static void thin_out(struct hf_pg_observe *observe, hf_time now)
{
    struct hf_pg_drawn *drawn = observe->drawn;
    size_t              out = 0;
    double              least = 0;

    static_assert(HF_PG_DRAWN > 2, "the newest and the oldest stay");
    assert(observe->count == HF_PG_DRAWN);
    if (now - drawn[1].when <= hf_lease_longer(TTL_MOST))
        for (size_t i = 1; i + 1 < observe->count; i++) {
            double gap = (double)(drawn[i + 1].when - drawn[i - 1].when);
            double share = gap / (double)(now - drawn[i].when + 1); /* never by 0 */
            if (out == 0 || share < least) {
                out = i;
                least = share;
            }
        }
    assert(out + 1 < observe->count); /* never the newest */
    observe->count--;
    memmove(drawn + out, drawn + out + 1, (observe->count - out) * sizeof *drawn);
}

static void remember_drawn(struct hf_pg *pg, int64_t number, const char *era)
{
    struct hf_pg_observe *observe = &pg->observe;
    struct hf_pg_drawn   *last = &observe->drawn[observe->count - (observe->count > 0)];
    hf_time               now = hf_now(); /* not earlier than the server drew it */

    if (era == NULL || strcmp(era, observe->era) != 0) {
        observe->count = 0;
        observe->alarm = HF_NEVER;
        snprintf(observe->era, sizeof observe->era, "%s", era != NULL ? era : "");
    }
    if (observe->count > 0 && number <= last->number)
        observe->count = 0; /* somebody has set the sequence back */
    else if (observe->count > 0 && now < last->when + pg->config.ttl / 8)
        return; /* hf_check() may be called often */
    if (observe->count == HF_PG_DRAWN)
        thin_out(observe, now);
    assert(observe->count == 0 || observe->drawn[observe->count - 1].number < number);
    observe->drawn[observe->count++] = (struct hf_pg_drawn){ number, now };
}

void hf_pg_observe_begin(struct hf_pg *pg, int64_t number, const char *era)
{
    assert(pg->dial.phase == HF_DIAL_GREETING);
    remember_drawn(pg, number, era);
}

/* When a session that is silent since that number may be taken for dead.  The server is
 * told ages in whole milliseconds. */
static hf_time stale_at(const struct hf_pg_observe *observe, int64_t number, hf_time ttl)
{
    for (size_t i = 0; i < observe->count; i++)
        if (observe->drawn[i].number >= number)
            return hf_lease_stale_at(observe->drawn[i].when, ttl) + HF_MS;
    return HF_NEVER;
}

/* It was renewed after we had the last number of ours that is lower. */
int64_t hf_pg_observe_left(const struct hf_pg *pg, int64_t number, int64_t ttl_ms)
{
    const struct hf_pg_observe *observe = &pg->observe;
    size_t                      lower = observe->count;

    while (lower > 0 && observe->drawn[lower - 1].number > number)
        lower--;
    if (lower == 0 || ttl_ms <= 0 || ttl_ms > TTL_MOST / HF_MS)
        return 0;
    int64_t left =
        (observe->drawn[lower - 1].when + ttl_ms * HF_MS - pg->remote.now) / 1000;
    return left > 0 ? left : 1;
}

void hf_pg_observe(struct hf_pg *pg, const PGresult *result)
{
    struct hf_pg_observe *observe = &pg->observe;

    assert(pg->dial.phase == HF_DIAL_READY);
    remember_drawn(pg, hf_pg_number(result, 0, 1), hf_pg_text(result, 0, 3));
    observe->alarm = HF_NEVER;
    for (int row = 1; row < PQntuples(result); row++) {
        int64_t ms = hf_pg_number(result, row, 2);
        hf_time ttl = within(ms, TTL_LEAST / HF_MS, TTL_MOST / HF_MS) * HF_MS;
        hf_time at = stale_at(observe, hf_pg_number(result, row, 1), ttl);
        if (at < observe->alarm)
            observe->alarm = at;
    }
}

/* ---- Burials -------------------------------------------------------------------- */

static void on_swept(struct hf_pg *pg, void *data, const PGresult *result)
{
    (void)data;
    if (hf_pg_fault(pg, result) == HF_SERVED_FINE &&
        hf_pg_number(result, 0, 0) > LINES / 10)
        plan_round(pg, true);
}

static void on_buried(struct hf_pg *pg, void *data, const PGresult *result)
{
    bool    alarmed = data != NULL;
    bool    failed = hf_pg_fault(pg, result) != HF_SERVED_FINE;
    int64_t count = failed ? 0 : hf_pg_number(result, 0, 0);

    if (failed && alarmed) /* somebody has cancelled it, or the connection broke */
        pg->observe.alarm = pg->remote.now + pg->config.ttl / AGAIN;
    if (result == NULL)
        return;
    if (count > 0) {
        pg->observe.alarm = pg->remote.now; /* there may be more: see schema.sql */
        hf_pg_renew(pg);                    /* who is in our way now? */
    }
    if (alarmed)
        return;
    hf_pg_begin(pg, HF_PG_SWEEP);
    hf_pg_add_number(&pg->served, LINES);
    hf_pg_send(pg, &pg->observe.call, false, on_swept, NULL);
}

/* By all numbers that are as old as the shortest lease in question. */
static void bury(struct hf_pg *pg, hf_time shortest, bool alarmed)
{
    struct hf_pg_observe *observe = &pg->observe;
    uint64_t              number[HF_PG_DRAWN], age[HF_PG_DRAWN];
    hf_time               now = hf_now();
    size_t                count = 0;

    for (; count < observe->count && observe->drawn[count].when + shortest <= now;
         count++) {
        number[count] = (uint64_t)observe->drawn[count].number;
        age[count] = (uint64_t)((now - observe->drawn[count].when) / HF_MS);
    }
    assert(count <= HF_PG_DRAWN && pg->dial.phase == HF_DIAL_READY);
    hf_pg_begin(pg, HF_PG_BURY);
    hf_pg_add(&pg->served, pg->served.sid);
    hf_pg_add(&pg->served, observe->era);
    hf_pg_add_numbers(&pg->served, number, count);
    hf_pg_add_numbers(&pg->served, age, count);
    hf_pg_send(pg, &observe->call, false, on_buried, alarmed ? pg : NULL);
}

/* ---- Time ----------------------------------------------------------------------- */

void hf_pg_observe_run(struct hf_pg *pg)
{
    struct hf_pg_observe *observe = &pg->observe;

    if (pg->dial.phase != HF_DIAL_READY || observe->call.flying)
        return;
    if (pg->remote.now >= observe->alarm) {
        observe->alarm = HF_NEVER;
        bury(pg, TTL_LEAST, true);
    } else if (pg->remote.now >= observe->round) {
        plan_round(pg, false);
        bury(pg, pg->config.ttl, false);
    }
}

hf_time hf_pg_observe_wake(const struct hf_pg *pg)
{
    const struct hf_pg_observe *observe = &pg->observe;

    if (pg->dial.phase != HF_DIAL_READY || observe->call.flying)
        return HF_NEVER;
    return observe->alarm < observe->round ? observe->alarm : observe->round;
}
