/* expiry.c - see expiry.h. */
#include "store/served/expiry.h"

#include "base/random.h"

#define TTL_LEAST   (500 * HF_MS)
#define ROUND_LEAST HF_SEC
#define ROUND_MOST  (60 * HF_SEC)
#define ROUND_SOON  (200 * HF_MS) /* if there is more to sweep */
#define AGAIN       20            /* attempts in a ttl, if a call fails */

static hf_time within(hf_time value, hf_time least, hf_time most)
{
    return value < least ? least : value > most ? most : value;
}

static void plan_round(struct hf_expiry *expiry, hf_time now)
{
    hf_time pause = within(expiry->ttl, ROUND_LEAST, ROUND_MOST);

    pause += (hf_time)(hf_random() % (uint64_t)(pause / 2)); /* not all at once */
    expiry->round = now + pause;
}

void hf_expiry_init(struct hf_expiry *expiry, hf_time ttl, hf_time now)
{
    expiry->ttl = ttl;
    expiry->expire_at = HF_NEVER;
    plan_round(expiry, now);
}

void hf_expiry_drew(struct hf_expiry *expiry, int64_t number, const char *era)
{
    /* hf_check() may renew often. */
    if (hf_drawn_add(&expiry->drawn, number, era, hf_now(), expiry->ttl / 8))
        expiry->expire_at = HF_NEVER;
}

void hf_expiry_renewed(struct hf_expiry *expiry, int64_t number, const char *era)
{
    hf_expiry_drew(expiry, number, era);
    expiry->expire_at = HF_NEVER;
}

void hf_expiry_in_our_way(struct hf_expiry *expiry, int64_t number, int64_t ttl_ms)
{
    hf_time ttl = within(ttl_ms, TTL_LEAST / HF_MS, HF_DRAWN_LONGEST / HF_MS) * HF_MS;

    expiry->expire_at =
        hf_sooner(expiry->expire_at, hf_drawn_stale_at(&expiry->drawn, number, ttl));
}

enum hf_expiry_due hf_expiry_run(struct hf_expiry *expiry, hf_time now)
{
    if (now >= expiry->expire_at) {
        expiry->expire_at = HF_NEVER;
        return HF_EXPIRY_IN_OUR_WAY;
    }
    if (now < expiry->round)
        return HF_EXPIRY_NONE;
    plan_round(expiry, now);
    return HF_EXPIRY_ROUND;
}

hf_time hf_expiry_wake(const struct hf_expiry *expiry)
{
    return hf_sooner(expiry->expire_at, expiry->round);
}

size_t hf_expiry_old(const struct hf_expiry *expiry, enum hf_expiry_due due, hf_time now)
{
    hf_time shortest = due == HF_EXPIRY_IN_OUR_WAY ? TTL_LEAST : expiry->ttl;
    size_t  count = 0;

    while (count < expiry->drawn.count && expiry->drawn.of[count].when + shortest <= now)
        count++;
    return count;
}

bool hf_expiry_ended(struct hf_expiry *expiry, enum hf_expiry_due due, int64_t count,
                     hf_time now)
{
    if (count < 0 && due == HF_EXPIRY_IN_OUR_WAY) /* canceled, or the connection broke */
        expiry->expire_at = now + expiry->ttl / AGAIN;
    if (count > 0)
        expiry->expire_at = now; /* there may be more */
    return count > 0;
}

void hf_expiry_swept(struct hf_expiry *expiry, int64_t count, hf_time now)
{
    if (count > HF_EXPIRY_LINES / 10)
        expiry->round = now + ROUND_SOON;
}
