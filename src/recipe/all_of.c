/* all_of.c - several locks as one: sorted, one deadline, all or none.
 *
 * all_of_take.c knows how they are taken and given back.  A blocking call waits here
 * until that is done; all_of_start.c does without.
 */
#include "recipe/all_of.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How long a failed attempt waits for the store to have taken it all back. */
#define GRACE (40 * HF_MS)

struct hf_bundle *hf_bundle_of(const struct hf_lock *lock)
{
    assert(lock->made != NULL);
    return lock->made;
}

void hf_bundle_show(struct hf_bundle *bundle, enum hf_state state, int why)
{
    struct hf_lock *self = bundle->self;
    uint64_t        token = 0;

    for (size_t i = 0; i < bundle->count; i++)
        if (hf_token(bundle->part[i]) > token)
            token = hf_token(bundle->part[i]);
    hf_lock_show(self, state, why);
    if (state == HF_HELD)
        atomic_store(&self->shown.token, token);
    if (state == HF_IDLE)
        hf_lock_give_back(self);
}

/* With the mutex held, the moment a part is lost. */
static void on_part_lost(struct hf_lock *part)
{
    struct hf_bundle *bundle = part->part.whole;

    if (hf_state(bundle->self) == HF_HELD)
        hf_lock_show(bundle->self, HF_LOST, HF_ELOST);
}

/* ---- Blocking ------------------------------------------------------------------ */

/* As for any lock: may this thread acquire it, and how often has it done so? */
static int begin_acquire(struct hf_lock *lock, bool once, hf_time deadline)
{
    if (hf_owner_is_me(&lock->owner)) {
        int r = hf_lock_acquire_again(lock);
        return r == 0 ? 1 : r;
    }
    int r = hf_lock_take(lock, once, deadline);
    return r < 0 ? hf_lock_fail(lock, r) : 0;
}

struct progress {
    struct hf_bundle    *bundle;
    enum hf_bundle_phase phase; /* as they were */
    bool                 again;
};

/* Another thread may have canceled it, and then there may be nothing due. */
static bool has_moved(void *arg)
{
    const struct progress *before = arg;
    struct hf_bundle      *bundle = before->bundle;

    return hf_bundle_is_due(bundle) || bundle->phase != before->phase ||
           bundle->again != before->again;
}

/* Until there is something to do, or it is no longer in that phase. */
static int wait_in_phase(struct hf_bundle *bundle, enum hf_bundle_phase phase,
                         hf_time until)
{
    struct progress before = { bundle, phase, bundle->again };

    return hf_drive_wait(&bundle->self->client->drive, has_moved, &before, until);
}

/* A store that is well has taken a failed attempt back before we return.  For one that
 * does not answer we do not wait: the time is over. */
static void wait_for_all(struct hf_bundle *bundle)
{
    struct hf_drive *drive = &bundle->self->client->drive;

    while (bundle->phase != HF_RESTING) {
        bool    failed = bundle->phase == HF_GIVING && !bundle->again;
        hf_time until = failed ? hf_now() + GRACE : bundle->deadline;
        if (wait_in_phase(bundle, bundle->phase, until) < 0) {
            /* The engine keeps the same deadline, and may know better what is wrong. */
            hf_drive_turn(drive, false);
            if (failed)
                break;
            if (!hf_bundle_is_due(bundle))
                hf_bundle_give_up(bundle, bundle->once ? HF_EDOWN : HF_ETIMEOUT);
        }
        hf_bundle_step(bundle);
    }
}

static int finish_call(struct hf_bundle *bundle, enum hf_state state)
{
    int why = bundle->why;

    bundle->phase = HF_RESTING;
    if (why < 0)
        hf_lock_fail(bundle->culprit, why);
    hf_bundle_show(bundle, state, why);
    return why;
}

static int all_acquire(struct hf_lock *lock, int64_t timeout_ms)
{
    struct hf_bundle *bundle = hf_bundle_of(lock);
    bool              once = timeout_ms == 0;
    hf_time           deadline = hf_client_limit(timeout_ms).deadline;

    int r = begin_acquire(lock, once, deadline);
    if (r != 0)
        return r < 0 ? r : 0;
    hf_bundle_take(bundle, true, once, deadline);
    wait_for_all(bundle);
    r = finish_call(bundle, bundle->why == 0 ? HF_HELD : HF_IDLE);
    if (r == 0)
        hf_lock_granted(lock);
    return r;
}

/* Until the store knows.  Past the deadline it lets go by itself. */
static int all_release(struct hf_lock *lock)
{
    struct hf_bundle *bundle = hf_bundle_of(lock);
    hf_time           deadline = atomic_load(&lock->client->alive_until);
    bool              lost = hf_state(lock) == HF_LOST || hf_now() >= deadline;

    int r = hf_lock_check_release(lock);
    if (r != 0)
        return r < 0 ? r : 0;
    hf_owner_move(lock, HF_OWNER_RELEASING);
    hf_bundle_give(bundle, true);
    if (wait_in_phase(bundle, HF_GIVING, deadline) < 0)
        hf_bundle_give_up(bundle, lost ? HF_ELOST : HF_EDOWN);
    hf_bundle_step(bundle);
    return finish_call(bundle, HF_IDLE);
}

/* ---- Either way -------------------------------------------------------------------- */

static int all_cancel(struct hf_lock *lock)
{
    struct hf_bundle *bundle = hf_bundle_of(lock);
    struct hf_drive  *drive = &lock->client->drive;

    lock->owner.cancels++;
    if (bundle->phase == HF_TAKING || bundle->again)
        hf_bundle_give_up(bundle, HF_ECANCELED);
    hf_drive_nudge(drive);
    hf_drive_rouse(drive);
    return 0;
}

static void destroy_bundle(struct hf_bundle *bundle)
{
    free(bundle->part);
    free(bundle->any_thread);
    free(bundle);
}

/* The parts stay the caller's, and are idle again. */
static void all_free(struct hf_lock *lock)
{
    struct hf_bundle *bundle = hf_bundle_of(lock);

    hf_bundle_listen(bundle, false);
    for (size_t i = 0; i < bundle->count; i++) {
        struct hf_lock *part = bundle->part[i];
        part->part = (struct hf_part){ 0 };
        part->owner.any_thread = bundle->any_thread[i];
        part->owner.cancels++;
    }
    lock->ops = &hf_plain_ops;
    lock->made = NULL;
    hf_bundle_drop(bundle, 0);
    destroy_bundle(bundle);
    hf_drive_nudge(&lock->client->drive);
}

static struct hf_lock *const *all_parts(const struct hf_lock *lock, size_t *count)
{
    struct hf_bundle *bundle = hf_bundle_of(lock);

    *count = bundle->count;
    return bundle->part;
}

static const struct hf_lock_ops ops = {
    .acquire = all_acquire,
    .release = all_release,
    .acquire_start = hf_bundle_acquire_start,
    .release_start = hf_bundle_release_start,
    .cancel = all_cancel,
    .free = all_free,
    .parts = all_parts,
};

static int by_name(const void *a, const void *b)
{
    const struct hf_lock *const *x = a, *const *y = b;

    return strcmp((*x)->name, (*y)->name);
}

static int reject(struct hf_client *client, const struct hf_lock *lock, const char *why)
{
    int cancel = hf_drive_begin(&client->drive);
    int r = hf_client_fail(client, HF_EINVAL, "several locks as one: \"%s\" %s",
                           lock->name, why);
    hf_drive_end(&client->drive, cancel);
    return r;
}

/* `part` is sorted.  `client` is that of the first as given: there the caller asks. */
static int check_parts(struct hf_client *client, struct hf_lock *const *part,
                       size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (part[i]->client != client)
            return reject(client, part[i], "is of another client");
        if (part[i]->part.whole != NULL || part[i]->made != NULL)
            return reject(client, part[i], "is part of something else already");
        if (hf_state(part[i]) != HF_IDLE)
            return reject(client, part[i], "is in use");
        if (i > 0 && strcmp(part[i]->name, part[i - 1]->name) == 0)
            return reject(client, part[i], "is given twice");
    }
    return 0;
}

static int make_handle(struct hf_bundle *bundle, struct hf_lock **ret)
{
    const struct hf_shape shape = { .weight = 1, .capacity = 1 };
    struct hf_lock       *lock;

    int r = hf_lock_new(bundle->part[0]->client, bundle->part[0]->name, &shape, &lock);
    if (r < 0)
        return r;
    int cancel = hf_drive_begin(&lock->client->drive);
    bundle->self = lock;
    bundle->together = lock->client->store->impl->groups;
    bundle->hopeful = true;
    lock->ops = &ops;
    lock->made = bundle;
    for (size_t i = 0; i < bundle->count; i++) {
        struct hf_lock *part = bundle->part[i];
        part->part = (struct hf_part){ .whole = bundle, .on_lost = on_part_lost };
        bundle->any_thread[i] = part->owner.any_thread;
        part->owner.any_thread = true; /* the whole checks which thread may */
    }
    hf_drive_end(&lock->client->drive, cancel);
    *ret = lock;
    return 0;
}

static int fill_bundle(struct hf_bundle *bundle, struct hf_lock *const *locks,
                       size_t count)
{
    bundle->part = calloc(count, sizeof(struct hf_lock *));
    bundle->any_thread = calloc(count, sizeof *bundle->any_thread);
    if (bundle->part == NULL || bundle->any_thread == NULL)
        return HF_ENOMEM;
    memcpy(bundle->part, locks, count * sizeof *locks);
    bundle->count = count;
    qsort(bundle->part, count, sizeof(struct hf_lock *), by_name);
    return check_parts(locks[0]->client, bundle->part, count);
}

static int check_given(struct hf_lock *const *locks, size_t count)
{
    int r = locks != NULL && count > 0 ? 0 : HF_EINVAL;

    for (size_t i = 0; r == 0 && i < count; i++)
        r = hf_client_check(hf_lock_client(locks[i]));
    return r;
}

int hf_all_of(struct hf_lock *const *locks, size_t count, struct hf_lock **ret)
{
    int r = ret != NULL ? check_given(locks, count) : HF_EINVAL;
    if (r < 0)
        return r;

    struct hf_bundle *bundle = calloc(1, sizeof *bundle);
    if (bundle == NULL)
        return HF_ENOMEM;
    r = fill_bundle(bundle, locks, count);
    if (r < 0)
        goto fail;
    r = make_handle(bundle, ret);
    if (r < 0)
        goto fail;
    return 0;
fail:
    destroy_bundle(bundle);
    return r;
}
