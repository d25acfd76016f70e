/* acquire.c - taking and giving back, and which thread may; see holdfast.h.
 *
 * One handle stands for one place in line.  Threads that share it take turns:
 * first come first served for the handle, then the handle queues in the store.
 */
#include "client/lock.h"
#include "client/note.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* A try waits for an answer, not for the lock: this long at most. */
#define ANSWER_LIMIT (5 * HF_SEC)

static int why_not(struct hf_lock *lock, int code)
{
    struct hf_client *client = lock->client;
    const char       *name = lock->name;

    switch (code) {
    case HF_EBUSY:
        return hf_client_fail(client, code, "\"%s\" is held by somebody else", name);
    case HF_ETIMEOUT:
        return hf_client_fail(client, code, "\"%s\" did not become free in time", name);
    case HF_ECANCELED:
        return hf_client_fail(client, code, "waiting for \"%s\" was canceled", name);
    case HF_ELOST:
        return hf_client_fail(client, code,
                              "\"%s\" was lost while held: what was done under it was not "
                              "protected to the end",
                              name);
    case HF_EMISMATCH:
        return hf_client_fail(client, code,
                              "\"%s\" is in use as another kind of lock; holdfast show tells "
                              "which and by whom",
                              name);
    case HF_EDOWN:
        if (lock->errmsg[0] == '\0')
            return hf_client_fail(client, code, "\"%s\": the store does not answer", name);
        break;
    default:
        break;
    }
    return hf_client_fail(client, code, "\"%.100s\": %.140s", name,
                          lock->errmsg[0] != '\0' ? lock->errmsg : hf_strerror(code));
}

static bool is_mine(const struct hf_lock *lock)
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

/* Wait until no other thread uses the handle, and take it. */
static int take_handle(struct hf_lock *lock, bool once, hf_time deadline)
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
    if (r == 0)
        lock->busy = true;
    else
        hf_drive_rouse(&lock->client->drive); /* it may be the next one's turn */
    return r;
}

static void give_handle_back(struct hf_lock *lock)
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

static int acquire_again(struct hf_lock *lock)
{
    if (lock->state != HF_HELD)
        return why_not(lock, HF_ELOST);
    lock->depth++;
    return 0;
}

static int prepare(struct hf_lock *lock)
{
    if (lock->note == NULL)
        lock->note = strdup(lock->client->note);
    return lock->note != NULL ? 0 : HF_ENOMEM;
}

static int acquire(struct hf_lock *lock, int64_t timeout_ms)
{
    bool    once = timeout_ms == 0;
    hf_time now = hf_now();
    hf_time deadline = once ? now + ANSWER_LIMIT : hf_after_ms(now, timeout_ms);

    if (is_mine(lock))
        return acquire_again(lock);
    int r = take_handle(lock, once, deadline);
    if (r < 0)
        return why_not(lock, r);
    lock->bound = true;
    lock->owner = pthread_self();

    r = prepare(lock);
    if (r == 0)
        r = wait_for_it(lock, once, deadline);
    if (r < 0) {
        give_handle_back(lock);
        return why_not(lock, r);
    }
    lock->depth = 1;
    lock->bound = !lock->any_thread;
    return 0;
}

int hf_acquire(struct hf_lock *lock, int64_t timeout_ms)
{
    int r = hf_client_check(lock->client);
    if (r < 0)
        return r;
    int cancel = hf_drive_begin(&lock->client->drive);
    r = acquire(lock, timeout_ms);
    hf_drive_end(&lock->client->drive, cancel);
    return r;
}

static int acquire_start(struct hf_lock *lock, int64_t timeout_ms)
{
    struct hf_client *client = lock->client;
    bool              once = timeout_ms == 0;
    hf_time           now = hf_now();

    if (lock->busy || lock->turns != NULL || lock->state != HF_IDLE)
        return hf_client_fail(client, HF_ESTATE, "the handle for \"%s\" is in use",
                              lock->name);
    if (prepare(lock) < 0)
        return why_not(lock, HF_ENOMEM);
    lock->busy = true;
    hf_lock_post_want(lock, once, once ? now + ANSWER_LIMIT : hf_after_ms(now, timeout_ms));
    hf_drive_nudge(&client->drive);
    return 0;
}

int hf_acquire_start(struct hf_lock *lock, int64_t timeout_ms)
{
    int r = hf_client_check(lock->client);
    if (r < 0)
        return r;
    int cancel = hf_drive_begin(&lock->client->drive);
    r = acquire_start(lock, timeout_ms);
    hf_drive_end(&lock->client->drive, cancel);
    return r;
}

/* Start giving it up.  1: there is nothing to wait for, a count went down. */
static int start_release(struct hf_lock *lock)
{
    struct hf_client *client = lock->client;

    if (lock->state != HF_HELD && lock->state != HF_LOST)
        return hf_client_fail(client, HF_ESTATE, "\"%s\" is not held by this handle",
                              lock->name);
    if (lock->bound && !is_mine(lock))
        return hf_client_fail(client, HF_EOWNER,
                              "\"%s\" is held by another thread; see hf_set_any_thread()",
                              lock->name);
    if (lock->depth > 1) {
        lock->depth--;
        return lock->state == HF_HELD ? 1 : why_not(lock, HF_ELOST);
    }
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
    give_handle_back(lock);
    return r < 0 ? why_not(lock, r) : 0;
}

int hf_release(struct hf_lock *lock)
{
    int r = hf_client_check(lock->client);
    if (r < 0)
        return r;
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
    int cancel = hf_drive_begin(&lock->client->drive);
    r = start_release(lock);
    if (r == 0) {
        give_handle_back(lock);
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
