/* all_of.c - several locks as one: sorted, one deadline, all or none.
 *
 * The parts are taken one after the other in the order of their names, which is
 * the same for everybody, so that nobody can wait in a circle.  What fails gives
 * back what was taken, in reverse.
 *
 * Blocking calls simply go from part to part.  Without blocking, each part tells
 * by its hook how it went, and that starts the next:
 *
 *     IDLE --start--> TAKING --last one held--> HELD --start--> GIVING --> IDLE
 *                       \----one failed---------------------------^
 */
#include "base/clock.h"
#include "client/lock.h"
#include "client/publish.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum phase { RESTING, BLOCKING, TAKING, GIVING };

struct bundle {
    struct hf_lock  *self;
    struct hf_lock **part;
    bool            *any_thread; /* as they were */
    size_t           count;
    enum phase       phase;
    size_t           taken; /* parts that are ours, from the first */
    hf_time          deadline;
    bool             once;
    int              why;
};

static struct bundle *bundle_of(const struct hf_lock *lock)
{
    return lock->hook_data;
}

static void show(struct bundle *bundle, enum hf_state state, int why)
{
    struct hf_lock *self = bundle->self;
    uint64_t        token = 0;
    int             cancel = hf_drive_begin(&self->client->drive);

    for (size_t i = 0; i < bundle->count; i++) {
        if (hf_state(bundle->part[i]) != HF_HELD && state == HF_HELD)
            state = HF_LOST, why = HF_ELOST; /* lost before the last one came */
        if (hf_token(bundle->part[i]) > token)
            token = hf_token(bundle->part[i]);
    }
    hf_lock_show(self, state, why);
    if (state == HF_HELD)
        atomic_store(&self->token, token);
    if (state == HF_IDLE)
        hf_lock_give_back(self);
    hf_drive_end(&self->client->drive, cancel);
}

/* With the mutex held, the moment a part is lost. */
static void on_lost(struct hf_lock *part)
{
    struct bundle *bundle = bundle_of(part);

    if (hf_state(bundle->self) == HF_HELD)
        hf_lock_show(bundle->self, HF_LOST, HF_ELOST);
}

/* What is left of the time, as hf_acquire() wants it. */
static int64_t time_left(const struct bundle *bundle)
{
    hf_time now = hf_now();

    if (bundle->once)
        return 0;
    if (bundle->deadline == HF_NEVER)
        return -1;
    return bundle->deadline > now ? (bundle->deadline - now + HF_MS - 1) / HF_MS : 0;
}

/* A part found taken when our time was over is a time-out, not a refusal. */
static int as_told(const struct bundle *bundle, int why)
{
    return why == HF_EBUSY && !bundle->once ? HF_ETIMEOUT : why;
}

/* ---- Blocking ------------------------------------------------------------------ */

/* In reverse; the first failure is told, and stops nothing. */
static int give_all(struct bundle *bundle)
{
    int result = 0;

    while (bundle->taken > 0) {
        int r = hf_release(bundle->part[--bundle->taken]);
        if (r < 0 && result == 0)
            result = r;
    }
    return result;
}

static int take_all(struct bundle *bundle)
{
    int r = 0;

    for (bundle->taken = 0; bundle->taken < bundle->count; bundle->taken++) {
        r = hf_acquire(bundle->part[bundle->taken], time_left(bundle));
        if (r < 0)
            break;
    }
    if (r < 0)
        (void)give_all(bundle);
    return as_told(bundle, r);
}

/* Which thread may, and how deep it is, is settled as for any lock. */
static int begin_acquire(struct hf_lock *lock, int64_t timeout_ms)
{
    struct bundle *bundle = bundle_of(lock);
    int            cancel = hf_drive_begin(&lock->client->drive);
    int            r;

    if (hf_lock_is_mine(lock)) {
        r = hf_lock_acquire_again(lock);
        r = r == 0 ? 1 : r;
    } else {
        r = hf_lock_take_handle(lock, timeout_ms == 0, hf_after_ms(hf_now(), timeout_ms));
        if (r < 0)
            hf_lock_fail(lock, r);
    }
    if (r == 0) {
        bundle->phase = BLOCKING;
        lock->depth = 1; /* given back with the handle if it comes to nothing */
        lock->bound = !lock->any_thread;
    }
    hf_drive_end(&lock->client->drive, cancel);
    return r;
}

static int all_acquire(struct hf_lock *lock, int64_t timeout_ms)
{
    struct bundle *bundle = bundle_of(lock);
    hf_time        deadline = hf_after_ms(hf_now(), timeout_ms);

    int r = begin_acquire(lock, timeout_ms);
    if (r != 0)
        return r < 0 ? r : 0;
    bundle->once = timeout_ms == 0;
    bundle->deadline = deadline;
    show(bundle, HF_WAITING, 0);
    r = take_all(bundle);
    bundle->phase = RESTING;
    show(bundle, r == 0 ? HF_HELD : HF_IDLE, r);
    return r;
}

static int all_release(struct hf_lock *lock)
{
    struct bundle *bundle = bundle_of(lock);
    int            cancel = hf_drive_begin(&lock->client->drive);
    int            r = hf_lock_check_release(lock);

    hf_drive_end(&lock->client->drive, cancel);
    if (r != 0)
        return r < 0 ? r : 0;
    bundle->phase = BLOCKING;
    r = give_all(bundle);
    bundle->phase = RESTING;
    show(bundle, HF_IDLE, r);
    return r;
}

/* ---- Without blocking ------------------------------------------------------------ */

static void hook(struct hf_lock *part, enum hf_state state, int why);

/* Let the parts tell us how they fare, or no more: what they said while a call
 * was blocking is not meant for the next one that is not. */
static void listen(struct bundle *bundle, bool on)
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

static void rest(struct bundle *bundle, enum hf_state state, int why)
{
    listen(bundle, false);
    bundle->phase = RESTING;
    show(bundle, state, why);
}

static void give_next(struct bundle *bundle)
{
    while (bundle->taken > 0) {
        struct hf_lock *part = bundle->part[bundle->taken - 1];
        if (hf_release_start(part) == 0)
            return; /* its hook goes on */
        bundle->taken--;
    }
    rest(bundle, HF_IDLE, bundle->why);
}

static void take_next(struct bundle *bundle)
{
    if (bundle->taken == bundle->count) {
        rest(bundle, HF_HELD, 0);
        return;
    }
    int r = hf_acquire_start(bundle->part[bundle->taken], time_left(bundle));
    if (r < 0) {
        bundle->why = r;
        bundle->phase = GIVING;
        give_next(bundle);
    }
}

/* How a part fared; from the keeper or the caller's loop. */
static void hook(struct hf_lock *part, enum hf_state state, int why)
{
    struct bundle *bundle = bundle_of(part);

    if (bundle->phase == TAKING && state == HF_HELD) {
        bundle->taken++;
        take_next(bundle);
    } else if (bundle->phase == TAKING && state == HF_IDLE) {
        bundle->why = as_told(bundle, why);
        bundle->phase = GIVING;
        give_next(bundle);
    } else if (bundle->phase == GIVING && state == HF_IDLE && bundle->taken > 0) {
        bundle->taken--;
        if (why < 0 && bundle->why == 0)
            bundle->why = why;
        give_next(bundle);
    }
}

static int all_acquire_start(struct hf_lock *lock, int64_t timeout_ms)
{
    struct bundle *bundle = bundle_of(lock);
    int            cancel = hf_drive_begin(&lock->client->drive);
    int            r = hf_lock_take_for_nobody(lock);

    hf_drive_end(&lock->client->drive, cancel);
    if (r < 0)
        return r;
    bundle->once = timeout_ms == 0;
    bundle->deadline = hf_after_ms(hf_now(), timeout_ms);
    bundle->taken = 0;
    bundle->why = 0;
    bundle->phase = TAKING;
    listen(bundle, true);
    show(bundle, HF_WAITING, 0);
    r = hf_acquire_start(bundle->part[0], timeout_ms);
    if (r < 0)
        rest(bundle, HF_IDLE, r);
    return r;
}

static int all_release_start(struct hf_lock *lock)
{
    struct bundle *bundle = bundle_of(lock);
    int            cancel = hf_drive_begin(&lock->client->drive);
    int            r = hf_lock_check_release(lock);

    hf_drive_end(&lock->client->drive, cancel);
    if (r != 0)
        return r < 0 ? r : 0;
    bundle->why = 0;
    bundle->phase = GIVING;
    listen(bundle, true);
    show(bundle, HF_LEAVING, 0);
    give_next(bundle);
    return 0;
}

/* ---- Either way -------------------------------------------------------------------- */

static int all_cancel(struct hf_lock *lock)
{
    struct bundle *bundle = bundle_of(lock);

    for (size_t i = 0; i < bundle->count; i++)
        hf_cancel(bundle->part[i]);
    return 0;
}

static void destroy(struct bundle *bundle)
{
    free(bundle->part);
    free(bundle->any_thread);
    free(bundle);
}

/* The parts stay the caller's, and are idle again. */
static void all_free(struct hf_lock *lock)
{
    struct bundle *bundle = bundle_of(lock);

    listen(bundle, false);
    for (size_t i = 0; i < bundle->count; i++) {
        struct hf_lock *part = bundle->part[i];
        part->inner = false;
        part->on_lost = NULL;
        part->hook_data = NULL;
        part->any_thread = bundle->any_thread[i];
        hf_cancel(part);
        if (hf_state(part) == HF_HELD || hf_state(part) == HF_LOST)
            (void)hf_release_start(part);
    }
    lock->ops = NULL;
    lock->hook_data = NULL;
    destroy(bundle);
}

static const struct hf_lock_ops ops = {
    .acquire = all_acquire,
    .release = all_release,
    .acquire_start = all_acquire_start,
    .release_start = all_release_start,
    .cancel = all_cancel,
    .free = all_free,
};

static int by_name(const void *a, const void *b)
{
    const struct hf_lock *const *x = a, *const *y = b;

    return strcmp((*x)->name, (*y)->name);
}

static int reject(struct hf_lock *lock, const char *why)
{
    int cancel = hf_drive_begin(&lock->client->drive);
    int r = hf_client_fail(lock->client, HF_EINVAL, "several locks as one: \"%s\" %s",
                           lock->name, why);
    hf_drive_end(&lock->client->drive, cancel);
    return r;
}

/* `part` is sorted. */
static int check_parts(struct hf_lock *const *part, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (part[i]->client != part[0]->client)
            return reject(part[i], "is of another client");
        if (part[i]->hook_data != NULL)
            return reject(part[i], "is part of something else already");
        if (hf_state(part[i]) != HF_IDLE)
            return reject(part[i], "is in use");
        if (i > 0 && strcmp(part[i]->name, part[i - 1]->name) == 0)
            return reject(part[i], "is given twice");
    }
    return 0;
}

static int make(struct bundle *bundle, struct hf_lock **ret)
{
    const struct hf_shape shape = { .weight = 1, .capacity = 1 };
    struct hf_lock       *lock;

    int r = hf_lock_new(bundle->part[0]->client, bundle->part[0]->name, &shape, &lock);
    if (r < 0)
        return r;
    bundle->self = lock;
    lock->ops = &ops;
    lock->hook_data = bundle;
    for (size_t i = 0; i < bundle->count; i++) {
        struct hf_lock *part = bundle->part[i];
        part->inner = true;
        part->on_lost = on_lost;
        part->hook_data = bundle;
        bundle->any_thread[i] = part->any_thread;
        part->any_thread = true; /* which thread may is the whole's concern */
    }
    *ret = lock;
    return 0;
}

int hf_all_of(struct hf_lock *const *locks, size_t count, struct hf_lock **ret)
{
    if (count == 0)
        return HF_EINVAL;
    int r = hf_client_check(locks[0]->client);
    if (r < 0)
        return r;

    struct bundle *bundle = calloc(1, sizeof *bundle);
    if (bundle == NULL)
        return HF_ENOMEM;
    bundle->part = calloc(count, sizeof(struct hf_lock *));
    bundle->any_thread = calloc(count, sizeof *bundle->any_thread);
    r = bundle->part != NULL && bundle->any_thread != NULL ? 0 : HF_ENOMEM;
    if (r == 0) {
        memcpy(bundle->part, locks, count * sizeof *locks);
        bundle->count = count;
        qsort(bundle->part, count, sizeof(struct hf_lock *), by_name);
        r = check_parts(bundle->part, count);
    }
    if (r == 0)
        r = make(bundle, ret);
    if (r < 0)
        destroy(bundle);
    return r;
}
