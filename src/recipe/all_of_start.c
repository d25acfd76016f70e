/* all_of_start.c - several locks as one, without blocking; see all_of.h.
 *
 * Each part tells by its hook how it went, and that starts the next.
 */
#include "client/publish.h"
#include "recipe/all_of.h"

static void hook(struct hf_lock *part, enum hf_state state, int why);

/* What they said while a call was blocking is not meant for one that is not. */
void hf_bundle_listen(struct hf_bundle *bundle, bool on)
{
    struct hf_client *client = bundle->self->client;
    int               cancel = hf_drive_begin(&client->drive);

    for (size_t i = 0; i < bundle->count; i++) {
        bundle->part[i]->hook = on ? hook : NULL;
        hf_notices_drop(client, bundle->part[i]);
    }
    if (!on)
        hf_client_settle(client);
    hf_drive_end(&client->drive, cancel);
}

static void rest(struct hf_bundle *bundle, enum hf_state state, int why)
{
    hf_bundle_listen(bundle, false);
    bundle->phase = HF_RESTING;
    hf_bundle_show(bundle, state, why);
}

static void give_next(struct hf_bundle *bundle)
{
    while (bundle->taken > 0) {
        struct hf_lock *part = bundle->part[bundle->taken - 1];
        if (hf_release_start(part) == 0)
            return; /* its hook goes on */
        bundle->taken--;
    }
    rest(bundle, HF_IDLE, bundle->why);
}

static void take_next(struct hf_bundle *bundle)
{
    if (bundle->taken == bundle->count) {
        rest(bundle, HF_HELD, 0);
        return;
    }
    int64_t left;
    int     r = HF_ETIMEOUT;
    if (hf_bundle_time_left(bundle, &left))
        r = hf_acquire_start(bundle->part[bundle->taken], left);
    if (r < 0) {
        bundle->why = r;
        bundle->phase = HF_GIVING;
        give_next(bundle);
    }
}

/* How a part fared; from the keeper or the caller's loop. */
static void hook(struct hf_lock *part, enum hf_state state, int why)
{
    struct hf_bundle *bundle = hf_bundle_of(part);

    if (bundle->phase == HF_TAKING && state == HF_HELD) {
        bundle->taken++;
        take_next(bundle);
    } else if (bundle->phase == HF_TAKING && state == HF_LEAVING) {
        hf_bundle_show(bundle, HF_LEAVING, why); /* the store may not know it yet */
    } else if (bundle->phase == HF_TAKING && state == HF_IDLE) {
        bundle->why = why;
        bundle->phase = HF_GIVING;
        give_next(bundle);
    } else if (bundle->phase == HF_GIVING && state == HF_IDLE && bundle->taken > 0) {
        bundle->taken--;
        if (why < 0 && bundle->why == 0)
            bundle->why = why;
        give_next(bundle);
    }
}

int hf_bundle_acquire_start(struct hf_lock *lock, int64_t timeout_ms)
{
    struct hf_bundle *bundle = hf_bundle_of(lock);
    int               cancel = hf_drive_begin(&lock->client->drive);
    int               r = hf_lock_take_for_nobody(lock);

    hf_drive_end(&lock->client->drive, cancel);
    if (r < 0)
        return r;
    bundle->once = timeout_ms == 0;
    bundle->deadline = hf_after_ms(hf_now(), timeout_ms);
    bundle->taken = 0;
    bundle->why = 0;
    bundle->phase = HF_TAKING;
    hf_bundle_listen(bundle, true);
    hf_bundle_show(bundle, HF_WAITING, 0);
    r = hf_acquire_start(bundle->part[0], timeout_ms);
    if (r < 0)
        rest(bundle, HF_IDLE, r);
    return r;
}

int hf_bundle_release_start(struct hf_lock *lock)
{
    struct hf_bundle *bundle = hf_bundle_of(lock);
    int               cancel = hf_drive_begin(&lock->client->drive);
    int               r = hf_lock_check_release(lock);

    hf_drive_end(&lock->client->drive, cancel);
    if (r != 0)
        return r < 0 ? r : 0;
    bundle->why = 0;
    bundle->phase = HF_GIVING;
    hf_bundle_listen(bundle, true);
    hf_bundle_show(bundle, HF_LEAVING, 0);
    give_next(bundle);
    return 0;
}
