/* release.c - releasing a lock, and canceling the wait for it. */
#include "client/handle/lock.h"

#include <assert.h>

static bool has_left(void *arg)
{
    struct hf_lock *lock = arg;

    return hf_state(lock) == HF_IDLE || lock->published.denied;
}

/* Wait until the store has confirmed or denied the release; a denied one is retried,
 * but that may take for ever.  Past the deadline the lease has ended anyway.  `lost`:
 * the lock was already lost when it was released, whatever the store may say.
 * Meanwhile no other thread can take the handle, so the published result belongs to
 * this release; and if the handle is freed, it stays until we are done. */
static int wait_until_left(struct hf_lock *lock, hf_time deadline, bool lost)
{
    struct hf_drive *drive = &lock->client->drive;

    assert(hf_state(lock) == HF_LEAVING);
    hf_owner_move(lock, HF_OWNER_RELEASING);
    int r = hf_drive_wait(drive, has_left, lock, deadline);

    bool denied = hf_state(lock) != HF_IDLE && lock->published.denied;
    if (denied || r < 0)
        r = lost ? HF_ELOST : denied ? HF_EDENIED : HF_EDOWN;
    else
        r = hf_why(lock);
    hf_lock_give_back(lock);
    if (lock->freeing) {
        hf_lock_post_free(lock);
        hf_drive_nudge(drive);
    }
    return r;
}

int hf_lock_check_release(struct hf_lock *lock)
{
    struct hf_client *client = lock->client;
    enum hf_state     state = hf_state(lock);

    if (state != HF_HELD && state != HF_LOST)
        return hf_lock_fail_not_held(lock);
    if (hf_owner_is_other(&lock->owner))
        return hf_client_fail(client, HF_EOWNER,
                              "\"%s\" is held by another thread; see hf_set_any_thread()",
                              lock->name);
    if (lock->owner.count > 1) {
        lock->owner.count--;
        return state == HF_HELD ? 1 : hf_lock_fail(lock, HF_ELOST);
    }
    return 0;
}

struct hf_lock *hf_lock_let_go(struct hf_lock *lock)
{
    enum hf_owner_state state = lock->owner.state;

    if (state == HF_OWNER_INNER) /* it has no place in the store */
        return hf_nested_release_inner(lock);
    if (state == HF_OWNER_INNER_LOST) {
        hf_lock_set_state(lock, HF_IDLE, HF_ELOST);
        hf_lock_give_back(lock);
        return NULL;
    }
    if (lock->nested.inner > 0) {
        hf_nested_release_outer(lock);
        return NULL;
    }
    assert(state == HF_OWNER_BOUND || state == HF_OWNER_LOOSE);
    hf_lock_post_drop(lock, 0);
    return lock;
}

int hf_plain_release(struct hf_lock *lock)
{
    struct hf_drive *drive = &lock->client->drive;
    hf_time          deadline = atomic_load(&lock->client->alive_until);
    bool             lost = hf_state(lock) == HF_LOST || hf_now() >= deadline;
    int              r = hf_lock_check_release(lock);

    if (r != 0)
        return r < 0 ? r : 0;
    struct hf_lock *leaving = hf_lock_let_go(lock);
    if (leaving != NULL)
        r = wait_until_left(leaving, deadline, lost);
    else
        r = hf_why(lock);
    if (r < 0)
        hf_lock_fail(lock, r);
    if (leaving == NULL && drive->posted)
        hf_drive_turn(drive, false);
    return r;
}

int hf_plain_release_start(struct hf_lock *lock)
{
    struct hf_client *client = lock->client;
    int               r = hf_lock_check_release(lock);

    if (r != 0)
        return r < 0 ? r : 0;
    struct hf_lock *leaving = hf_lock_let_go(lock);
    if (leaving == lock)
        hf_lock_give_back(lock);
    if (leaving == NULL && hf_why(lock) < 0)
        r = hf_lock_fail(lock, hf_why(lock));
    if (client->on_state != NULL || lock->member.hook != NULL)
        hf_drive_nudge(&client->drive);
    else if (client->drive.posted)
        hf_drive_send(&client->drive);
    return r;
}

int hf_plain_cancel(struct hf_lock *lock)
{
    struct hf_drive *drive = &lock->client->drive;

    lock->owner.cancels++;
    if (hf_state(lock) == HF_WAITING) {
        hf_lock_post_drop(lock, HF_ECANCELED);
        hf_drive_nudge(drive);
    }
    hf_drive_rouse(drive);
    return 0;
}
