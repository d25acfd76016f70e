/* acquire.c - taking and giving back, and which thread may; see holdfast.h.
 *
 * One handle stands for one place in line.  Threads that share it take turns:
 * first come first served for the handle, then the handle queues in the store.
 */
#include "client/lock.h"
#include "client/note.h"
#include "client/shelter.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

bool hf_lock_is_mine(const struct hf_lock *lock)
{
    return lock->bound && lock->depth > 0 && pthread_equal(lock->owner, pthread_self());
}

static bool my_turn(void *arg)
{
    const struct hf_turn *turn = arg;
    const struct hf_lock *lock = turn->lock;

    return lock->cancels != turn->cancels ||
           (!lock->busy && lock->state == HF_IDLE && lock->turns == turn);
}

int hf_lock_take_handle(struct hf_lock *lock, bool once, hf_time deadline)
{
    struct hf_turn   turn = { .lock = lock, .cancels = lock->cancels };
    struct hf_turn **at = &lock->turns;

    if (once && (lock->busy || lock->turns != NULL))
        return HF_EBUSY;
    while (*at != NULL)
        at = &(*at)->next;
    *at = &turn;

    int r = hf_drive_wait(&lock->client->drive, my_turn, &turn, deadline);

    for (at = &lock->turns; *at != &turn; at = &(*at)->next)
        ;
    *at = turn.next;
    if (r == 0 && lock->cancels != turn.cancels)
        r = HF_ECANCELED;
    if (r < 0) {
        hf_drive_rouse(&lock->client->drive); /* it may be the next one's turn */
        return r;
    }
    lock->busy = lock->bound = true;
    lock->owner = pthread_self();
    return 0;
}

void hf_lock_give_back(struct hf_lock *lock)
{
    lock->busy = false;
    lock->bound = false;
    lock->depth = 0;
    hf_drive_rouse(&lock->client->drive);
}

static bool answered(void *arg)
{
    struct hf_lock *lock = arg;

    return lock->state != HF_WAITING;
}

static int wait_for_it(struct hf_lock *lock, bool once, hf_time deadline)
{
    struct hf_drive *drive = &lock->client->drive;

    hf_lock_post_want(lock, once, deadline);
    if (hf_drive_wait(drive, answered, lock, deadline) < 0) {
        /* The engine keeps the same deadline and knows better what is wrong,
         * unless another thread is stuck in it. */
        hf_drive_turn(drive, false);
        if (!answered(lock)) {
            hf_lock_post_drop(lock, once ? HF_EDOWN : HF_ETIMEOUT);
            hf_drive_nudge(drive);
        }
    }
    return lock->state == HF_HELD ? 0 : lock->why;
}

int hf_lock_acquire_again(struct hf_lock *lock)
{
    if (lock->state != HF_HELD)
        return hf_lock_fail(lock, HF_ELOST);
    if (lock->lessened) /* it would believe it were a writer */
        return hf_lock_fail(lock, HF_EDEADLOCK);
    lock->depth++;
    return 0;
}

int hf_lock_prepare(struct hf_lock *lock)
{
    if (lock->note == NULL)
        lock->note = strdup(lock->client->note);
    return lock->note != NULL ? 0 : HF_ENOMEM;
}

/* The thread whose readers have its place comes for it again. */
static int take_back(struct hf_lock *lock, bool once)
{
    int r = hf_shelter_find(lock, once);

    if (r <= 0)
        return hf_lock_fail(lock, r < 0 ? r : HF_EDEADLOCK);
    lock->bound = true;
    lock->depth = 1;
    return 0;
}

static int acquire(struct hf_lock *lock, int64_t timeout_ms)
{
    bool    once = timeout_ms == 0;
    hf_time deadline = hf_client_limit(timeout_ms).deadline;

    if (hf_lock_is_mine(lock))
        return hf_lock_acquire_again(lock);
    if (lock->lent && pthread_equal(lock->owner, pthread_self()))
        return take_back(lock, once);
    int r = hf_lock_take_handle(lock, once, deadline);
    if (r < 0)
        return hf_lock_fail(lock, r);

    r = hf_shelter_find(lock, once);
    if (r == 0)
        r = hf_lock_prepare(lock);
    if (r == 0)
        r = wait_for_it(lock, once, deadline);
    if (r < 0) {
        hf_lock_give_back(lock);
        return hf_lock_fail(lock, r);
    }
    lock->depth = 1;
    lock->bound = !lock->any_thread || lock->shelter != NULL;
    return 0;
}

int hf_acquire(struct hf_lock *lock, int64_t timeout_ms)
{
    int r = hf_client_check(lock->client);
    if (r < 0)
        return r;
    if (lock->ops != NULL)
        return lock->ops->acquire(lock, timeout_ms);
    int cancel = hf_drive_begin(&lock->client->drive);
    r = acquire(lock, timeout_ms);
    hf_drive_end(&lock->client->drive, cancel);
    return r;
}

int hf_lock_take_for_nobody(struct hf_lock *lock)
{
    if (lock->busy || lock->turns != NULL || lock->state != HF_IDLE)
        return hf_client_fail(lock->client, HF_ESTATE, "the handle for \"%s\" is in use",
                              lock->name);
    lock->busy = true;
    return 0;
}

static int acquire_start(struct hf_lock *lock, int64_t timeout_ms)
{
    struct hf_client *client = lock->client;

    if (hf_lock_prepare(lock) < 0)
        return hf_lock_fail(lock, HF_ENOMEM);
    int r = hf_lock_take_for_nobody(lock);
    if (r < 0)
        return r;
    hf_lock_post_want(lock, timeout_ms == 0, hf_client_limit(timeout_ms).deadline);
    hf_drive_nudge(&client->drive);
    return 0;
}

int hf_acquire_start(struct hf_lock *lock, int64_t timeout_ms)
{
    int r = hf_client_check(lock->client);
    if (r < 0)
        return r;
    if (lock->ops != NULL)
        return lock->ops->acquire_start(lock, timeout_ms);
    int cancel = hf_drive_begin(&lock->client->drive);
    r = acquire_start(lock, timeout_ms);
    hf_drive_end(&lock->client->drive, cancel);
    return r;
}
