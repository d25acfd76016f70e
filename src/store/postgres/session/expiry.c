/* expiry.c - find sessions that have expired, and end them.
 *
 * No time of day decides.  Every renewal and every hello draws a number that is higher
 * than all before, and we remember when we got ours.  A session whose number is lower
 * than one of ours was renewed before we got that.  If that is longer ago than the
 * session's ttl, by our clock, the session is dead.  So we need not have seen a session
 * to know that it is dead, and the server expires all dead sessions in one call.
 *
 * The answer to a renewal tells us when to make that call: it has the leases at the
 * head of the lines that we wait for.  Every now and then we expire all other dead
 * sessions.
 *
 * A server that has lost its last commits may draw the same numbers again: a standby
 * that missed them, or a server that was started with the data of a snapshot.  So each
 * number comes with its era, one run of one server, and counts in no other.  After a
 * plain restart every client starts to count again, which takes a ttl and is always
 * safe.
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
#define ROUND_SOON  (200 * HF_MS) /* if there is more to sweep */
#define LINES       1000          /* to sweep in a round */
#define AGAIN       20            /* attempts in a ttl, if expire_silent() fails */

static hf_time within(hf_time value, hf_time least, hf_time most)
{
    return value < least ? least : value > most ? most : value;
}

static void plan_round(struct hf_pg *pg, bool soon)
{
    hf_time pause = within(pg->config.ttl, ROUND_LEAST, ROUND_MOST);

    pause += (hf_time)(hf_random() % (uint64_t)(pause / 2)); /* not all at once */
    pg->expiry.round = pg->remote.now + (soon ? ROUND_SOON : pause);
}

void hf_pg_expiry_init(struct hf_pg *pg)
{
    pg->expiry.expire_at = HF_NEVER;
    pg->remote.now = hf_now();
    plan_round(pg, false);
}

/* ---- Renewal numbers ------------------------------------------------------------ */

/* Forget one number: the oldest if the next is old enough for every lease, else the one
 * whose neighbours are closest together, in proportion to its age.  So the numbers go
 * far back however often we draw, and the gaps grow with their age.  Having fewer
 * numbers makes us later, never wrong. */
static void forget_one(struct hf_pg_expiry *expiry, hf_time now)
{
    struct hf_pg_renewal *renewal = expiry->renewal;
    size_t                out = 0;
    double                least = 0;

    static_assert(HF_PG_RENEWALS > 2, "the newest and the oldest stay");
    assert(expiry->count == HF_PG_RENEWALS);
    if (now - renewal[1].when <= hf_lease_longer(TTL_MOST))
        for (size_t i = 1; i + 1 < expiry->count; i++) {
            double gap = (double)(renewal[i + 1].when - renewal[i - 1].when);
            double share = gap / (double)(now - renewal[i].when + 1); /* never by 0 */
            if (out == 0 || share < least) {
                out = i;
                least = share;
            }
        }
    assert(out + 1 < expiry->count); /* never the newest */
    expiry->count--;
    memmove(renewal + out, renewal + out + 1, (expiry->count - out) * sizeof *renewal);
}

static void remember_renewal(struct hf_pg *pg, int64_t number, const char *era)
{
    struct hf_pg_expiry  *expiry = &pg->expiry;
    struct hf_pg_renewal *last = &expiry->renewal[expiry->count - (expiry->count > 0)];
    hf_time               now = hf_now(); /* not earlier than the server drew it */

    if (era == NULL || strcmp(era, expiry->era) != 0) {
        expiry->count = 0;
        expiry->expire_at = HF_NEVER;
        snprintf(expiry->era, sizeof expiry->era, "%s", era != NULL ? era : "");
    }
    if (expiry->count > 0 && number <= last->number)
        expiry->count = 0; /* somebody has set the sequence back */
    else if (expiry->count > 0 && now < last->when + pg->config.ttl / 8)
        return; /* hf_check() may be called often */
    if (expiry->count == HF_PG_RENEWALS)
        forget_one(expiry, now);
    assert(expiry->count == 0 || expiry->renewal[expiry->count - 1].number < number);
    expiry->renewal[expiry->count++] = (struct hf_pg_renewal){ number, now };
}

void hf_pg_expiry_begin(struct hf_pg *pg, int64_t number, const char *era)
{
    assert(pg->dial.phase == HF_DIAL_GREETING);
    remember_renewal(pg, number, era);
}

/* When a session with that number is dead, unless it is renewed.  The server gets ages in
 * whole milliseconds. */
static hf_time stale_at(const struct hf_pg_expiry *expiry, int64_t number, hf_time ttl)
{
    for (size_t i = 0; i < expiry->count; i++)
        if (expiry->renewal[i].number >= number)
            return hf_lease_stale_at(expiry->renewal[i].when, ttl) + HF_MS;
    return HF_NEVER;
}

/* It was renewed after we got the last number of ours that is lower. */
int64_t hf_pg_lease_left(const struct hf_pg *pg, int64_t number, int64_t ttl_ms)
{
    const struct hf_pg_expiry *expiry = &pg->expiry;
    size_t                     lower = expiry->count;

    while (lower > 0 && expiry->renewal[lower - 1].number > number)
        lower--;
    if (lower == 0 || ttl_ms <= 0 || ttl_ms > TTL_MOST / HF_MS)
        return 0;
    int64_t left =
        (expiry->renewal[lower - 1].when + ttl_ms * HF_MS - pg->remote.now) / 1000;
    return left > 0 ? left : 1;
}

void hf_pg_expiry_renewed(struct hf_pg *pg, const PGresult *result)
{
    struct hf_pg_expiry *expiry = &pg->expiry;

    assert(pg->dial.phase == HF_DIAL_READY);
    remember_renewal(pg, hf_pg_number(result, 0, 1), hf_pg_text(result, 0, 3));
    expiry->expire_at = HF_NEVER;
    for (int row = 1; row < PQntuples(result); row++) {
        int64_t ms = hf_pg_number(result, row, 2);
        hf_time ttl = within(ms, TTL_LEAST / HF_MS, TTL_MOST / HF_MS) * HF_MS;
        hf_time at = stale_at(expiry, hf_pg_number(result, row, 1), ttl);
        if (at < expiry->expire_at)
            expiry->expire_at = at;
    }
}

/* ---- Calls ---------------------------------------------------------------------- */

static void on_swept(struct hf_pg *pg, void *data, const PGresult *result)
{
    (void)data;
    if (hf_pg_fault(pg, result) == HF_SERVED_FINE &&
        hf_pg_number(result, 0, 0) > LINES / 10)
        plan_round(pg, true);
}

static void on_expired(struct hf_pg *pg, void *data, const PGresult *result)
{
    bool    in_our_way = data != NULL;
    bool    failed = hf_pg_fault(pg, result) != HF_SERVED_FINE;
    int64_t count = failed ? 0 : hf_pg_number(result, 0, 0);

    if (failed && in_our_way) /* the call was canceled, or the connection broke */
        pg->expiry.expire_at = pg->remote.now + pg->config.ttl / AGAIN;
    if (result == NULL)
        return;
    if (count > 0) {
        pg->expiry.expire_at = pg->remote.now; /* there may be more: see schema.sql */
        hf_pg_renew(pg);                       /* to learn what is in our way now */
    }
    if (in_our_way)
        return;
    hf_pg_begin(pg, HF_PG_SWEEP);
    hf_pg_add_number(&pg->served, LINES);
    hf_pg_send(pg, &pg->expiry.call, false, on_swept, NULL);
}

/* Call expire_silent() with all our numbers that are as old as the shortest lease. */
static void expire_silent(struct hf_pg *pg, hf_time shortest, bool in_our_way)
{
    struct hf_pg_expiry *expiry = &pg->expiry;
    uint64_t             number[HF_PG_RENEWALS], age[HF_PG_RENEWALS];
    hf_time              now = hf_now();
    size_t               count = 0;

    for (; count < expiry->count && expiry->renewal[count].when + shortest <= now;
         count++) {
        number[count] = (uint64_t)expiry->renewal[count].number;
        age[count] = (uint64_t)((now - expiry->renewal[count].when) / HF_MS);
    }
    assert(count <= HF_PG_RENEWALS && pg->dial.phase == HF_DIAL_READY);
    hf_pg_begin(pg, HF_PG_EXPIRE);
    hf_pg_add(&pg->served, pg->served.sid);
    hf_pg_add(&pg->served, expiry->era);
    hf_pg_add_numbers(&pg->served, number, count);
    hf_pg_add_numbers(&pg->served, age, count);
    hf_pg_send(pg, &expiry->call, false, on_expired, in_our_way ? pg : NULL);
}

/* ---- Time ----------------------------------------------------------------------- */

void hf_pg_expiry_run(struct hf_pg *pg)
{
    struct hf_pg_expiry *expiry = &pg->expiry;

    if (pg->dial.phase != HF_DIAL_READY || expiry->call.pending)
        return;
    if (pg->remote.now >= expiry->expire_at) {
        expiry->expire_at = HF_NEVER;
        expire_silent(pg, TTL_LEAST, true);
    } else if (pg->remote.now >= expiry->round) {
        plan_round(pg, false);
        expire_silent(pg, pg->config.ttl, false);
    }
}

hf_time hf_pg_expiry_wake(const struct hf_pg *pg)
{
    const struct hf_pg_expiry *expiry = &pg->expiry;

    if (pg->dial.phase != HF_DIAL_READY || expiry->call.pending)
        return HF_NEVER;
    return expiry->expire_at < expiry->round ? expiry->expire_at : expiry->round;
}
