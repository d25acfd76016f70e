/* expiry.c - find sessions that have expired, and end them; served/drawn.h says how we
 * know.
 *
 * The answer to a renewal tells us when to call hf_expire_silent(): it has the leases at
 * the head of the lines that we wait for.  Every now and then we expire all other dead
 * sessions, and sweep.
 */
#include "store/mariadb/inner.h"

#include "base/random.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#define TTL_LEAST   (500 * HF_MS)
#define ROUND_LEAST HF_SEC
#define ROUND_MOST  (60 * HF_SEC)
#define ROUND_SOON  (200 * HF_MS) /* if there is more to sweep */
#define LINES       1000          /* to sweep in a round */
#define AGAIN       20            /* attempts in a ttl, if hf_expire_silent() fails */

static hf_time within(hf_time value, hf_time least, hf_time most)
{
    return value < least ? least : value > most ? most : value;
}

static void plan_round(struct hf_maria *maria, bool soon)
{
    hf_time pause = within(maria->config.ttl, ROUND_LEAST, ROUND_MOST);

    pause += (hf_time)(hf_random() % (uint64_t)(pause / 2)); /* not all at once */
    maria->expiry.round = maria->remote.now + (soon ? ROUND_SOON : pause);
}

void hf_maria_expiry_init(struct hf_maria *maria)
{
    maria->expiry.expire_at = HF_NEVER;
    maria->remote.now = hf_now();
    plan_round(maria, false);
}

/* ---- Renewal numbers ------------------------------------------------------------ */

static void remember_renewal(struct hf_maria *maria, int64_t number, const char *era)
{
    if (hf_drawn_add(&maria->expiry.drawn, number, era, hf_now(), maria->config.ttl / 8))
        maria->expiry.expire_at = HF_NEVER;
}

void hf_maria_expiry_begin(struct hf_maria *maria, int64_t number, const char *era)
{
    assert(maria->main.dial.phase == HF_DIAL_GREETING);
    remember_renewal(maria, number, era);
}

void hf_maria_expiry_renewed(struct hf_maria *maria, const struct hf_my_reply *reply)
{
    struct hf_maria_expiry *expiry = &maria->expiry;

    assert(maria->main.dial.phase == HF_DIAL_READY);
    remember_renewal(maria, hf_my_number(reply, 0, 1), hf_my_text(reply, 0, 3));
    expiry->expire_at = HF_NEVER;
    for (size_t row = 1; row < reply->rows; row++) {
        int64_t ms = hf_my_number(reply, row, 2);
        hf_time ttl = within(ms, TTL_LEAST / HF_MS, HF_DRAWN_LONGEST / HF_MS) * HF_MS;
        expiry->expire_at =
            hf_sooner(expiry->expire_at,
                      hf_drawn_stale_at(&expiry->drawn, hf_my_number(reply, row, 1),
                                        ttl));
    }
}

/* ---- Calls ---------------------------------------------------------------------- */

static void on_swept(struct hf_maria *maria, void *data, const struct hf_my_reply *reply)
{
    (void)data;
    if (hf_maria_fault(maria, reply) == HF_SERVED_FINE &&
        hf_my_number(reply, 0, 1) > LINES / 10)
        plan_round(maria, true);
}

/* { 0, how many expired } */
static void on_expired(struct hf_maria *maria, void *data,
                       const struct hf_my_reply *reply)
{
    bool    in_our_way = data != NULL;
    bool    failed = hf_maria_fault(maria, reply) != HF_SERVED_FINE;
    int64_t count = failed ? 0 : hf_my_number(reply, 0, 1);

    if (failed && in_our_way) /* the call was canceled, or the connection broke */
        maria->expiry.expire_at = maria->remote.now + maria->config.ttl / AGAIN;
    if (reply == NULL)
        return;
    if (count > 0) {
        maria->expiry.expire_at = maria->remote.now; /* there may be more */
        hf_maria_renew(maria);                       /* to learn what is in our way now */
    }
    if (in_our_way || maria->main.dial.phase != HF_DIAL_READY)
        return;
    hf_maria_begin(maria, "hf_sweep");
    hf_maria_add_number(&maria->served, LINES);
    hf_maria_send(maria, &maria->expiry.call, false, on_swept, NULL);
}

/* Call hf_expire_silent() with all our numbers that are as old as the shortest lease. */
static void expire_silent(struct hf_maria *maria, hf_time shortest, bool in_our_way)
{
    const struct hf_drawn *drawn = &maria->expiry.drawn;
    char                   text[HF_DRAWN * 42 + 1] = "";
    size_t                 used = 0;
    hf_time                now = hf_now();

    for (size_t i = 0; i < drawn->count && drawn->of[i].when + shortest <= now; i++)
        used +=
            (size_t)snprintf(text + used, sizeof text - used, "%s%" PRId64 " %" PRId64,
                             i > 0 ? "," : "", drawn->of[i].number,
                             (int64_t)((now - drawn->of[i].when) / HF_MS));
    assert(used < sizeof text && maria->main.dial.phase == HF_DIAL_READY);
    hf_maria_begin(maria, "hf_expire_silent");
    hf_maria_add(&maria->served, maria->served.sid);
    hf_maria_add(&maria->served, drawn->era);
    hf_maria_add(&maria->served, text);
    hf_maria_send(maria, &maria->expiry.call, false, on_expired,
                  in_our_way ? maria : NULL);
}

/* ---- Time ----------------------------------------------------------------------- */

void hf_maria_expiry_run(struct hf_maria *maria)
{
    struct hf_maria_expiry *expiry = &maria->expiry;

    if (maria->main.dial.phase != HF_DIAL_READY || expiry->call.pending)
        return;
    if (maria->remote.now >= expiry->expire_at) {
        expiry->expire_at = HF_NEVER;
        expire_silent(maria, TTL_LEAST, true);
    } else if (maria->remote.now >= expiry->round) {
        plan_round(maria, false);
        expire_silent(maria, maria->config.ttl, false);
    }
}

hf_time hf_maria_expiry_wake(const struct hf_maria *maria)
{
    const struct hf_maria_expiry *expiry = &maria->expiry;

    if (maria->main.dial.phase != HF_DIAL_READY || expiry->call.pending)
        return HF_NEVER;
    return hf_sooner(expiry->expire_at, expiry->round);
}
