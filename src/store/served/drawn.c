/* drawn.c - see drawn.h. */
#include "store/served/drawn.h"

#include "core/lease.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* Forget one number: the oldest if the next is old enough for every lease, else the one
 * whose neighbours are closest together, in proportion to its age.  So the numbers go
 * far back however often we draw, and the gaps grow with their age.  Having fewer
 * numbers makes us later, never wrong. */
static void forget_one(struct hf_drawn *drawn, hf_time now)
{
    struct hf_drawn_number *of = drawn->of;
    size_t                  out = 0;
    double                  least = 0;

    static_assert(HF_DRAWN > 2, "the newest and the oldest stay");
    assert(drawn->count == HF_DRAWN);
    if (now - of[1].when <= hf_lease_longer(HF_DRAWN_LONGEST))
        for (size_t i = 1; i + 1 < drawn->count; i++) {
            double gap = (double)(of[i + 1].when - of[i - 1].when);
            double share = gap / (double)(now - of[i].when + 1); /* never by 0 */
            if (out == 0 || share < least) {
                out = i;
                least = share;
            }
        }
    assert(out + 1 < drawn->count); /* never the newest */
    drawn->count--;
    memmove(of + out, of + out + 1, (drawn->count - out) * sizeof *of);
}

bool hf_drawn_add(struct hf_drawn *drawn, int64_t number, const char *era, hf_time now,
                  hf_time gap)
{
    const struct hf_drawn_number *last = &drawn->of[drawn->count - (drawn->count > 0)];
    bool                          other = era == NULL || strcmp(era, drawn->era) != 0;

    if (other) {
        drawn->count = 0;
        snprintf(drawn->era, sizeof drawn->era, "%s", era != NULL ? era : "");
    }
    if (drawn->count > 0 && number <= last->number)
        drawn->count = 0; /* somebody has set the sequence back */
    else if (drawn->count > 0 && now < last->when + gap)
        return other;
    if (drawn->count == HF_DRAWN)
        forget_one(drawn, now);
    assert(drawn->count == 0 || drawn->of[drawn->count - 1].number < number);
    drawn->of[drawn->count++] = (struct hf_drawn_number){ number, now };
    return other;
}

/* The server gets ages in whole milliseconds. */
hf_time hf_drawn_stale_at(const struct hf_drawn *drawn, int64_t number, hf_time ttl)
{
    for (size_t i = 0; i < drawn->count; i++)
        if (drawn->of[i].number >= number)
            return hf_lease_stale_at(drawn->of[i].when, ttl) + HF_MS;
    return HF_NEVER;
}

/* It was renewed after we got the last number of ours that is lower. */
int64_t hf_drawn_left(const struct hf_drawn *drawn, int64_t number, int64_t ttl_ms,
                      hf_time now)
{
    size_t lower = drawn->count;

    while (lower > 0 && drawn->of[lower - 1].number > number)
        lower--;
    if (lower == 0 || ttl_ms <= 0 || ttl_ms > HF_DRAWN_LONGEST / HF_MS)
        return 0;
    int64_t left = (drawn->of[lower - 1].when + ttl_ms * HF_MS - now) / 1000;
    return left > 0 ? left : 1;
}
