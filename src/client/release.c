/* release.c - giving a lock back, and calling off the wait for it. */
#include "client/lock.h"
#include "client/shelter.h"

static bool left(void *arg)
{
    struct hf_lock *lock = arg;

    return lock->state == HF_IDLE;
}

/* Until the store knows.  Past the deadline it lets go by itself.  `lost`: it was not
 * ours any more when it was given back, whatever the store may say. */
static int wait_until_left(struct hf_lock *lock, hf_time deadline, bool lost)
{
    int r = hf_drive_wait(&lock->client->drive, left, lock, deadline);

    if (r < 0)
        return lost ? HF_ELOST : HF_EDOWN;
    return lock->why;
}

/* One that was granted under another: the store knows nothing of it, unless it
 * was the last for whom the place was kept. */
static int release_sheltered(struct hf_lock *lock)
{
    hf_time         deadline = atomic_load(&lock->client->alive_until);
    bool            fallen = lock->fallen;
    struct hf_lock *host = hf_shelter_leave(lock);

    lock->fallen = false;
    if (fallen)
        hf_lock_show(lock, HF_IDLE, HF_ELOST);
    hf_lock_give_back(lock);
    int r = fallen ? HF_ELOST : 0;
    if (host != NULL && host->freeing) /* gone when it is done: not to be waited for */
        hf_drive_turn(&lock->client->drive, false);
    else if (host != NULL)
        r = wait_until_left(host, deadline, fallen || hf_now() >= deadline);
    return r < 0 ? hf_lock_fail(lock, r) : 1;
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
    return 0;
}

int hf_lock_start_release(struct hf_lock *lock)
{
    int r = hf_lock_check_release(lock);
    if (r != 0)
        return r;
    if (lock->shelter != NULL || lock->fallen)
        return release_sheltered(lock);
    if (lock->sheltered > 0) {
        hf_shelter_lend(lock);
        hf_drive_turn(&lock->client->drive, false);
        return 1;
    }
    hf_lock_post_drop(lock, 0);
    return 0;
}

static int release(struct hf_lock *lock)
{
    hf_time deadline = atomic_load(&lock->client->alive_until);
    bool    lost = lock->state == HF_LOST || hf_now() >= deadline;
    int     r = hf_lock_start_release(lock);

    if (r != 0)
        return r < 0 ? r : 0;
    r = wait_until_left(lock, deadline, lost);
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
    r = hf_lock_start_release(lock);
    if (r == 0) {
        hf_lock_give_back(lock);
        if (lock->client->on_state != NULL || lock->hook != NULL)
            hf_drive_nudge(&lock->client->drive);
        else
            hf_drive_send(&lock->client->drive);
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
