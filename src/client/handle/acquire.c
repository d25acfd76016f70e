/* acquire.c - acquiring a lock; owner.h says which thread may. */
#include "client/handle/lock.h"

#include <assert.h>
#include <string.h>

static bool is_answered(void *arg)
{
    struct hf_lock *lock = arg;

    return hf_state(lock) != HF_WAITING;
}

static int wait_for_grant(struct hf_lock *lock, bool once, hf_time deadline)
{
    struct hf_drive *drive = &lock->client->drive;

    hf_lock_post_want(lock, once, deadline);
    if (hf_drive_wait(drive, is_answered, lock, deadline) < 0) {
        /* The engine keeps the same deadline and knows the reason better, unless another
         * thread is stuck in it. */
        hf_drive_turn(drive, false);
        if (!is_answered(lock)) {
            hf_lock_post_drop(lock, once ? HF_EDOWN : HF_ETIMEOUT);
            hf_drive_nudge(drive);
        }
    }
    return hf_state(lock) == HF_HELD ? 0 : hf_why(lock);
}

/* The lock was granted and lost before this thread noticed: acknowledge the loss. */
static void acknowledge_loss(struct hf_lock *lock)
{
    if (hf_state(lock) != HF_LOST)
        return;
    hf_lock_post_drop(lock, HF_ELOST);
    hf_drive_nudge(&lock->client->drive);
}

int hf_lock_prepare(struct hf_lock *lock)
{
    struct hf_settings *settings = &lock->settings;

    if (settings->note == NULL)
        settings->note = strdup(lock->client->note);
    return settings->note != NULL ? 0 : HF_ENOMEM;
}

/* The thread acquires a handle again that its inner handles outlived. */
static int acquire_outlived(struct hf_lock *lock, bool once)
{
    int r = hf_nested_acquire(lock, once);

    return r <= 0 ? hf_lock_fail(lock, r < 0 ? r : HF_EDEADLOCK) : 0;
}

static int acquire_taken(struct hf_lock *lock, bool once, hf_time deadline)
{
    assert(lock->owner.state == HF_OWNER_TAKEN);
    int r = hf_nested_acquire(lock, once);
    if (r == 0)
        r = hf_lock_prepare(lock);
    if (r == 0)
        r = wait_for_grant(lock, once, deadline);
    return r;
}

int hf_plain_acquire(struct hf_lock *lock, int64_t timeout_ms)
{
    bool    once = timeout_ms == 0;
    hf_time deadline = hf_client_limit(timeout_ms).deadline;

    if (hf_owner_is_me(&lock->owner))
        return hf_lock_acquire_again(lock);
    if (hf_owner_is_outlived(&lock->owner))
        return acquire_outlived(lock, once);
    int r = hf_lock_take(lock, once, deadline);
    if (r < 0)
        return hf_lock_fail(lock, r);
    r = acquire_taken(lock, once, deadline);
    if (r < 0) {
        acknowledge_loss(lock);
        hf_lock_give_back(lock);
        return hf_lock_fail(lock, r);
    }
    hf_lock_granted(lock);
    assert(hf_state(lock) == HF_HELD); /* published under the mutex, which we have */
    return 0;
}

int hf_plain_acquire_start(struct hf_lock *lock, int64_t timeout_ms)
{
    if (hf_lock_prepare(lock) < 0)
        return hf_lock_fail(lock, HF_ENOMEM);
    int r = hf_lock_take_for_nobody(lock);
    if (r < 0)
        return r;
    hf_lock_post_want(lock, timeout_ms == 0, hf_client_limit(timeout_ms).deadline);
    hf_drive_nudge(&lock->client->drive);
    return 0;
}
