/* release.c - giving a lock back, and calling off the wait for it. */
#include "client/lock.h"
#include "client/shelter.h"

/* One that was granted under another: the store knows nothing of it. */
static int release_sheltered(struct hf_lock *lock)
{
    bool fallen = lock->fallen;

    lock->fallen = false;
    if (fallen)
        hf_lock_show(lock, HF_IDLE, HF_ELOST);
    else
        hf_shelter_leave(lock);
    hf_lock_give_back(lock);
    return fallen ? hf_lock_fail(lock, HF_ELOST) : 1;
}

int hf_lock_check_release(struct hf_lock *lock)
{
    struct hf_client *client = lock->client;

    if (lock->state != HF_HELD && lock->state != HF_LOST)
        return hf_client_fail(client, HF_ESTATE, "\"%s\" is not held by this handle",
                              lock->name);
    if (lock->bound && !hf_lock_is_mine(lock))
        return hf_client_fail(client, HF_EOWNER,
                              "\"%s\" is held by another thread; see hf_set_any_thread()",
                              lock->name);
    if (lock->depth > 1) {
        lock->depth--;
        return lock->state == HF_HELD ? 1 : hf_lock_fail(lock, HF_ELOST);
    }
    if (lock->sheltered > 0)
        return hf_client_fail(client, HF_ESTATE,
                              "readers of \"%s\" were taken under this lock; release them "
                              "first, or use hf_downgrade()",
                              lock->name);
    return 0;
}

/* Start giving it up.  1: there is nothing to wait for. */
static int start_release(struct hf_lock *lock)
{
    int r = hf_lock_check_release(lock);
    if (r != 0)
        return r;
    if (lock->shelter != NULL || lock->fallen)
        return release_sheltered(lock);
    hf_lock_post_drop(lock, 0);
    return 0;
}

static bool left(void *arg)
{
    struct hf_lock *lock = arg;

    return lock->state == HF_IDLE;
}

static int release(struct hf_lock *lock)
{
    /* Past the deadline the store lets go by itself. */
    hf_time deadline = atomic_load(&lock->client->alive_until);
    int     r = start_release(lock);

    if (r != 0)
        return r < 0 ? r : 0;
    r = hf_drive_wait(&lock->client->drive, left, lock, deadline);
    if (r == 0)
        r = lock->why;
    else
        r = HF_EDOWN;
    hf_lock_give_back(lock);
    return r < 0 ? hf_lock_fail(lock, r) : 0;
}

int hf_release(struct hf_lock *lock)
{
    int r = hf_client_check(lock->client);
    if (r < 0)
        return r;
    if (lock->ops != NULL)
        return lock->ops->release(lock);
    int cancel = hf_drive_begin(&lock->client->drive);
    r = release(lock);
    hf_drive_end(&lock->client->drive, cancel);
    return r;
}

int hf_release_start(struct hf_lock *lock)
{
    int r = hf_client_check(lock->client);
    if (r < 0)
        return r;
    if (lock->ops != NULL)
        return lock->ops->release_start(lock);
    int cancel = hf_drive_begin(&lock->client->drive);
    r = start_release(lock);
    if (r == 0) {
        hf_lock_give_back(lock);
        hf_drive_nudge(&lock->client->drive);
    }
    hf_drive_end(&lock->client->drive, cancel);
    return r < 0 ? r : 0;
}

int hf_cancel(struct hf_lock *lock)
{
    int r = hf_client_check(lock->client);
    if (r < 0)
        return r;
    if (lock->ops != NULL)
        return lock->ops->cancel(lock);
    int cancel = hf_drive_begin(&lock->client->drive);
    lock->cancels++;
    if (lock->state == HF_WAITING) {
        hf_lock_post_drop(lock, HF_ECANCELED);
        hf_drive_nudge(&lock->client->drive);
    }
    hf_drive_rouse(&lock->client->drive);
    hf_drive_end(&lock->client->drive, cancel);
    return 0;
}
