/* all_of.c - several locks as one: sorted, one deadline, all or none.
 *
 * The calls that block: they wait while all_of_take.c acquires or releases the members.
 */
#include "recipe/all_of.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How long a failed acquire waits for the store to confirm the releases. */
#define GRACE (40 * HF_MS)

struct hf_all_of *hf_all_of_of(const struct hf_lock *lock)
{
    assert(lock->set != NULL);
    return lock->set;
}

void hf_all_of_publish(struct hf_all_of *set, enum hf_state state, int why)
{
    struct hf_lock *self = set->self;
    uint64_t        token = 0;

    for (size_t i = 0; i < set->count; i++)
        if (hf_token(set->member[i]) > token)
            token = hf_token(set->member[i]);
    hf_lock_set_state(self, state, why);
    if (state == HF_HELD)
        atomic_store(&self->published.token, token);
    if (state == HF_IDLE)
        hf_lock_give_back(self);
}

/* With the mutex held, as soon as a member is lost. */
static void on_member_lost(struct hf_lock *member)
{
    struct hf_all_of *set = member->member.of;

    if (hf_state(set->self) == HF_HELD)
        hf_lock_set_state(set->self, HF_LOST, HF_ELOST);
}

/* ---- Blocking -------------------------------------------------------------------- */

/* As with any lock; 1: this thread has acquired the set once more. */
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
    struct hf_all_of    *set;
    enum hf_all_of_phase phase; /* before the wait */
    bool                 again;
};

/* If another thread has canceled it, there may be nothing due. */
static bool has_moved(void *arg)
{
    const struct progress *before = arg;
    struct hf_all_of      *set = before->set;

    return hf_all_of_is_due(set) || set->phase != before->phase ||
           set->again != before->again;
}

/* Wait until there is something to do, or until another thread has changed the phase. */
static int wait_in_phase(struct hf_all_of *set, enum hf_all_of_phase phase, hf_time until)
{
    struct progress before = { set, phase, set->again };

    return hf_drive_wait(&set->self->client->drive, has_moved, &before, until);
}

/* After a failure a healthy store has released everything before we return.  We do not
 * wait for one that does not answer: the time is over. */
static void wait_for_all(struct hf_all_of *set)
{
    struct hf_drive *drive = &set->self->client->drive;

    while (set->phase != HF_RESTING) {
        bool    failed = set->phase == HF_GIVING && !set->again;
        hf_time until = failed ? hf_now() + GRACE : set->deadline;
        if (wait_in_phase(set, set->phase, until) < 0) {
            /* The engine keeps the same deadline, and may know the reason better. */
            hf_drive_turn(drive, false);
            if (failed)
                break;
            if (!hf_all_of_is_due(set))
                hf_all_of_give_up(set, set->once ? HF_EDOWN : HF_ETIMEOUT);
        }
        hf_all_of_step(set);
    }
}

static int finish_call(struct hf_all_of *set, enum hf_state state)
{
    int why = set->why;

    set->phase = HF_RESTING;
    if (why < 0)
        hf_lock_fail(set->failed, why);
    hf_all_of_publish(set, state, why);
    return why;
}

static int all_acquire(struct hf_lock *lock, int64_t timeout_ms)
{
    struct hf_all_of *set = hf_all_of_of(lock);
    bool              once = timeout_ms == 0;
    hf_time           deadline = hf_client_limit(timeout_ms).deadline;

    int r = begin_acquire(lock, once, deadline);
    if (r != 0)
        return r < 0 ? r : 0;
    hf_all_of_take(set, true, once, deadline);
    wait_for_all(set);
    r = finish_call(set, set->why == 0 ? HF_HELD : HF_IDLE);
    if (r == 0)
        hf_lock_granted(lock);
    return r;
}

/* Waits until the store has confirmed; past the deadline the lease has ended anyway. */
static int all_release(struct hf_lock *lock)
{
    struct hf_all_of *set = hf_all_of_of(lock);
    hf_time           deadline = atomic_load(&lock->client->alive_until);
    bool              lost = hf_state(lock) == HF_LOST || hf_now() >= deadline;

    int r = hf_lock_check_release(lock);
    if (r != 0)
        return r < 0 ? r : 0;
    hf_owner_move(lock, HF_OWNER_RELEASING);
    hf_all_of_give(set, true);
    if (wait_in_phase(set, HF_GIVING, deadline) < 0)
        hf_all_of_give_up(set, lost ? HF_ELOST : HF_EDOWN);
    hf_all_of_step(set);
    return finish_call(set, HF_IDLE);
}

/* ---- Blocking or not ------------------------------------------------------------- */

static int all_cancel(struct hf_lock *lock)
{
    struct hf_all_of *set = hf_all_of_of(lock);
    struct hf_drive  *drive = &lock->client->drive;

    lock->owner.cancels++;
    if (set->phase == HF_TAKING || set->again)
        hf_all_of_give_up(set, HF_ECANCELED);
    hf_drive_nudge(drive);
    hf_drive_rouse(drive);
    return 0;
}

static void destroy_set(struct hf_all_of *set)
{
    free(set->member);
    free(set->any_thread);
    free(set);
}

/* The members remain the caller's, and become idle. */
static void all_free(struct hf_lock *lock)
{
    struct hf_all_of *set = hf_all_of_of(lock);

    hf_all_of_listen(set, false);
    for (size_t i = 0; i < set->count; i++) {
        struct hf_lock *member = set->member[i];
        member->member = (struct hf_member){ 0 };
        member->owner.any_thread = set->any_thread[i];
        member->owner.cancels++;
    }
    lock->ops = &hf_plain_ops;
    lock->set = NULL;
    hf_all_of_drop(set, 0);
    destroy_set(set);
    hf_drive_nudge(&lock->client->drive);
}

static struct hf_lock *const *all_members(const struct hf_lock *lock, size_t *count)
{
    struct hf_all_of *set = hf_all_of_of(lock);

    *count = set->count;
    return set->member;
}

static const struct hf_lock_ops ops = {
    .acquire = all_acquire,
    .release = all_release,
    .acquire_start = hf_all_of_acquire_start,
    .release_start = hf_all_of_release_start,
    .cancel = all_cancel,
    .free = all_free,
    .members = all_members,
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

/* `member` is sorted.  `client` is that of the caller's first lock, where the caller
 * will look for the message. */
static int check_members(struct hf_client *client, struct hf_lock *const *member,
                         size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (member[i]->client != client)
            return reject(client, member[i], "belongs to another client");
        if (member[i]->member.of != NULL || member[i]->set != NULL)
            return reject(client, member[i], "belongs to another set or election");
        if (hf_state(member[i]) != HF_IDLE)
            return reject(client, member[i], "is in use");
        if (i > 0 && strcmp(member[i]->name, member[i - 1]->name) == 0)
            return reject(client, member[i], "is given twice");
    }
    return 0;
}

static int make_handle(struct hf_all_of *set, struct hf_lock **ret)
{
    const struct hf_shape shape = { .weight = 1, .capacity = 1 };
    struct hf_lock       *lock;

    int r = hf_lock_new(set->member[0]->client, set->member[0]->name, &shape, &lock);
    if (r < 0)
        return r;
    int cancel = hf_drive_begin(&lock->client->drive);
    set->self = lock;
    set->together = lock->client->store->impl->groups;
    set->hopeful = true;
    lock->ops = &ops;
    lock->set = set;
    for (size_t i = 0; i < set->count; i++) {
        struct hf_lock *member = set->member[i];
        member->member = (struct hf_member){ .of = set, .on_lost = on_member_lost };
        set->any_thread[i] = member->owner.any_thread;
        member->owner.any_thread = true; /* the set checks which thread may */
    }
    hf_drive_end(&lock->client->drive, cancel);
    *ret = lock;
    return 0;
}

static int fill_set(struct hf_all_of *set, struct hf_lock *const *locks, size_t count)
{
    set->member = calloc(count, sizeof(struct hf_lock *));
    set->any_thread = calloc(count, sizeof *set->any_thread);
    if (set->member == NULL || set->any_thread == NULL)
        return HF_ENOMEM;
    memcpy(set->member, locks, count * sizeof *locks);
    set->count = count;
    qsort(set->member, count, sizeof(struct hf_lock *), by_name);
    return check_members(locks[0]->client, set->member, count);
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

    struct hf_all_of *set = calloc(1, sizeof *set);
    if (set == NULL)
        return HF_ENOMEM;
    r = fill_set(set, locks, count);
    if (r < 0)
        goto fail;
    r = make_handle(set, ret);
    if (r < 0)
        goto fail;
    return 0;
fail:
    destroy_set(set);
    return r;
}
