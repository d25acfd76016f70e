/* expiry.c - end sessions that have expired; served/expiry.h says when. */
#include "store/mariadb/inner.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

void hf_maria_expiry_renewed(struct hf_maria *maria, const struct hf_my_reply *reply)
{
    struct hf_expiry *plan = &maria->expiry.plan;

    assert(maria->main.dial.phase == HF_DIAL_READY);
    hf_expiry_renewed(plan, hf_my_number(reply, 0, 1), hf_my_text(reply, 0, 3));
    for (size_t row = 1; row < reply->rows; row++)
        hf_expiry_in_our_way(plan, hf_my_number(reply, row, 1),
                             hf_my_number(reply, row, 2));
}

static void on_swept(struct hf_maria *maria, void *data, const struct hf_my_reply *reply)
{
    (void)data;
    if (hf_maria_fault(maria, reply) == HF_SERVED_FINE)
        hf_expiry_swept(&maria->expiry.plan, hf_my_number(reply, 0, 1),
                        maria->remote.now);
}

/* { 0, how many expired } */
static void on_expired(struct hf_maria *maria, void *data,
                       const struct hf_my_reply *reply)
{
    struct hf_maria_expiry *expiry = data;
    bool                    failed = hf_maria_fault(maria, reply) != HF_SERVED_FINE;
    int64_t                 count = failed ? -1 : hf_my_number(reply, 0, 1);

    if (hf_expiry_ended(&expiry->plan, expiry->due, count, maria->remote.now))
        hf_maria_renew(maria);
    if (reply == NULL || expiry->due != HF_EXPIRY_ROUND ||
        maria->main.dial.phase != HF_DIAL_READY)
        return;
    hf_maria_begin_call(maria, "hf_sweep");
    hf_maria_add_number(&maria->served, HF_EXPIRY_LINES);
    hf_maria_send(maria, &expiry->call, false, on_swept, NULL);
}

static void expire_silent(struct hf_maria *maria, struct hf_maria_expiry *expiry)
{
    const struct hf_drawn *drawn = &expiry->plan.drawn;
    char                   text[HF_DRAWN * 42 + 1] = "";
    hf_time                now = hf_now();
    size_t used = 0, count = hf_expiry_old(&expiry->plan, expiry->due, now);

    for (size_t i = 0; i < count; i++)
        used +=
            (size_t)snprintf(text + used, sizeof text - used, "%s%" PRId64 " %" PRId64,
                             i > 0 ? "," : "", drawn->of[i].number,
                             (int64_t)((now - drawn->of[i].when) / HF_MS));
    assert(used < sizeof text);
    hf_maria_begin_call(maria, "hf_expire_silent");
    hf_maria_add(&maria->served, maria->served.sid);
    hf_maria_add(&maria->served, drawn->era);
    hf_maria_add(&maria->served, text);
    hf_maria_send(maria, &expiry->call, false, on_expired, expiry);
}

static bool busy(const struct hf_maria *maria)
{
    return maria->main.dial.phase != HF_DIAL_READY || maria->expiry.call.pending;
}

void hf_maria_expiry_run(struct hf_maria *maria)
{
    struct hf_maria_expiry *expiry = &maria->expiry;

    if (busy(maria))
        return;
    expiry->due = hf_expiry_run(&expiry->plan, maria->remote.now);
    if (expiry->due != HF_EXPIRY_NONE)
        expire_silent(maria, expiry);
}

hf_time hf_maria_expiry_wake(const struct hf_maria *maria)
{
    return busy(maria) ? HF_NEVER : hf_expiry_wake(&maria->expiry.plan);
}
