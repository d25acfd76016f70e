/* lock.c - a handle from making it to freeing it; see lock.h. */
#include "client/lock.h"

#include "base/name.h"
#include "client/asked.h"
#include "client/note.h"
#include "client/publish.h"
#include "client/shelter.h"
#include "client/stats.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* From the engine, during a turn: to be published after it. */
static void on_change(struct hf_job *job)
{
    struct hf_lock *lock = (struct hf_lock *)job;

    if (lock->is_moved)
        return;
    lock->is_moved = true;
    lock->moved = lock->client->changed;
    lock->client->changed = lock;
}

/* The engine takes new jobs on when it is not being turned, so the lock is
 * handed over like everything else: by collect. */
int hf_lock_new(struct hf_client *client, const char *name, const struct hf_shape *shape,
                struct hf_lock **ret)
{
    const char *fault = hf_name_fault(name);

    int r = hf_client_check(client);
    if (r < 0)
        return r;
    int cancel = hf_drive_begin(&client->drive);
    if (fault != NULL) {
        r = hf_client_fail(client, HF_EINVAL,
                           "the lock name %s; use 1 to 255 bytes of plain text", fault);
        goto out;
    }
    struct hf_lock *lock = calloc(1, sizeof *lock);
    char           *copy = strdup(name);
    if (lock == NULL || copy == NULL) {
        free(lock);
        free(copy);
        r = hf_client_fail(client, HF_ENOMEM, "out of memory");
        goto out;
    }
    lock->client = client;
    lock->name = copy;
    lock->job.hold.shape = *shape;
    lock->slot = lock->lost_fd = lock->ask_fd = -1;
    lock->ahead = -1;
    lock->next = client->locks;
    lock->prev = &client->locks;
    if (lock->next != NULL)
        lock->next->prev = &lock->next;
    client->locks = lock;
    *ret = lock;
out:
    hf_drive_end(&client->drive, cancel);
    return r;
}

void hf_lock_destroy(struct hf_lock *lock)
{
    *lock->prev = lock->next;
    if (lock->next != NULL)
        lock->next->prev = lock->prev;
    hf_notices_drop(lock->client, lock);
    if (lock->lost_fd >= 0)
        close(lock->lost_fd);
    if (lock->ask_fd >= 0)
        close(lock->ask_fd);
    free(lock->note);
    free(lock->name);
    free(lock);
}

static void add_to_inbox(struct hf_lock *lock)
{
    if (!lock->in_inbox) {
        lock->in_inbox = true;
        lock->inbox = NULL; /* last: who asked first stands in line first */
        *lock->client->last_inbox = lock;
        lock->client->last_inbox = &lock->inbox;
    }
    hf_drive_post(&lock->client->drive);
}

void hf_lock_post_want(struct hf_lock *lock, bool once, hf_time deadline)
{
    assert(lock->state == HF_IDLE);
    lock->want = true;
    lock->once = once;
    lock->deadline = deadline;
    hf_lock_show(lock, HF_WAITING, 0);
    add_to_inbox(lock);
}

void hf_lock_post_drop(struct hf_lock *lock, int why)
{
    lock->drop = true;
    lock->drop_why = why;
    hf_lock_show(lock, HF_LEAVING, why);
    add_to_inbox(lock);
}

void hf_lock_post_lessen(struct hf_lock *lock, const struct hf_shape *shape)
{
    lock->lessen = true;
    lock->lesser = *shape;
    add_to_inbox(lock);
}

void hf_lock_post_free(struct hf_lock *lock)
{
    lock->freeing = true;
    hf_notices_drop(lock->client, lock);
    (void)hf_shelter_leave(lock);
    if (lock->lent) /* its guests keep it until they go */
        return;
    hf_shelter_fall(lock);
    if (lock->state != HF_IDLE && lock->state != HF_LEAVING)
        hf_lock_post_drop(lock, lock->state == HF_WAITING ? HF_ECANCELED : 0);
    else
        add_to_inbox(lock);
}

static bool has_job(const struct hf_lock *lock)
{
    return lock->job.engine != NULL;
}

void hf_lock_collect(struct hf_lock *lock)
{
    struct hf_client *client = lock->client;

    if (!has_job(lock)) {
        struct hf_shape shape = lock->job.hold.shape;
        hf_job_init(&lock->job, &client->engine, lock->name, &shape);
        lock->job.on_change = on_change;
    }
    if (lock->want) {
        lock->want = false;
        lock->job.note = lock->note;
        lock->job.limit = lock->limit;
        lock->job.group = lock->group;
        lock->group = 0;
        lock->job.hold.follow = lock->follow;
        hf_job_want(&lock->job, lock->once, lock->deadline);
    }
    if (lock->lessen) {
        lock->lessen = false;
        if (lock->job.hold.state == HF_HOLD_HELD)
            hf_job_lessen(&lock->job, &lock->lesser);
    }
    if (lock->drop) {
        lock->drop = false;
        if (lock->job.hold.state != HF_HOLD_IDLE)
            hf_job_drop(&lock->job, lock->drop_why);
    }
    on_change(&lock->job); /* so that it is published in any case */
}

static enum hf_state shown_state(const struct hf_lock *lock)
{
    static const enum hf_state shown[] = {
        [HF_HOLD_IDLE] = HF_IDLE,       [HF_HOLD_ENTERING] = HF_WAITING,
        [HF_HOLD_WAITING] = HF_WAITING, [HF_HOLD_LOOKING] = HF_WAITING,
        [HF_HOLD_HELD] = HF_HELD,       [HF_HOLD_LEAVING] = HF_LEAVING,
        [HF_HOLD_LOST] = HF_LOST,
    };

    return shown[lock->job.hold.state];
}

void hf_lock_show(struct hf_lock *lock, enum hf_state state, int why)
{
    enum hf_state before = hf_state(lock);
    bool          held = state == HF_HELD;

    atomic_store(&lock->token, held ? lock->job.hold.token : 0);
    atomic_store(&lock->slot, held ? lock->job.hold.slot : -1);
    atomic_store(&lock->why, why);
    if (before == state)
        return;
    atomic_store(&lock->state, (int)state);
    atomic_store(&lock->ahead, held ? 0 : -1);
    hf_lock_set_alarm(lock);
    hf_stats_count(lock, before, state, why);
    if (!held)
        hf_asked_reset(lock);
    if (!held && !lock->lent)
        hf_shelter_fall(lock);
    if (state == HF_LOST && lock->on_lost != NULL)
        lock->on_lost(lock);
    if (!lock->freeing)
        hf_notice_state(lock, state, why);
}

static void show_place(struct hf_lock *lock)
{
    bool    placed = lock->state == HF_WAITING && lock->job.hold.state == HF_HOLD_WAITING;
    int64_t ahead = (int64_t)lock->job.ahead;

    if (!placed)
        return;
    int64_t before = atomic_exchange(&lock->ahead, ahead);
    if (before < 0 && lock->hook != NULL)
        hf_notice_state(lock, HF_WAITING, 0);
    if (before != ahead)
        hf_notice_place(lock, ahead);
}

void hf_lock_publish(struct hf_lock *lock)
{
    if (lock->in_inbox) /* there is news the turn did not know of */
        return;
    if (lock->freeing && hf_job_quiet(&lock->job)) {
        hf_job_finish(&lock->job);
        hf_lock_destroy(lock);
        return;
    }
    enum hf_state before = hf_state(lock);

    memcpy(lock->errmsg, lock->job.errmsg, sizeof lock->errmsg);
    lock->place = lock->job.hold.id;
    hf_shelter_check(lock);
    if (lock->shelter == NULL && !lock->fallen && !lock->lent)
        hf_lock_show(lock, shown_state(lock), lock->job.hold.why);
    lock->lessened = lock->job.hold.state == HF_HOLD_HELD &&
                     lock->job.hold.lesser.weight != 0 && !lock->job.hold.lessen;
    show_place(lock);
    hf_asked_show(lock);
    /* Nobody waits for the result: leave word for hf_errmsg(). */
    if (before == HF_WAITING && lock->why < 0 && !lock->bound)
        hf_lock_fail(lock, lock->why);
    /* A wish that belongs to no thread ends by itself. */
    if (lock->state == HF_IDLE && lock->busy && !lock->bound && lock->depth == 0 &&
        !lock->lent)
        lock->busy = false;
}

/* Readable from the deadline on, and at once when the lock is lost. */
void hf_lock_set_alarm(struct hf_lock *lock)
{
    struct itimerspec spec = { 0 };
    hf_time           until = atomic_load(&lock->client->alive_until);

    if (lock->lost_fd < 0)
        return;
    if (lock->state == HF_LOST)
        spec.it_value.tv_nsec = 1;
    else if (lock->state == HF_HELD && until != HF_NEVER) {
        spec.it_value.tv_sec = until / HF_SEC;
        spec.it_value.tv_nsec = until % HF_SEC;
    }
    timerfd_settime(lock->lost_fd, TFD_TIMER_ABSTIME, &spec, NULL);
}

int hf_lost_fd(struct hf_lock *lock)
{
    int r = hf_client_check(lock->client);
    if (r < 0)
        return r;
    int cancel = hf_drive_begin(&lock->client->drive);
    if (lock->lost_fd < 0) {
        lock->lost_fd = timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
        hf_lock_set_alarm(lock);
    }
    r = lock->lost_fd;
    if (r < 0)
        r = hf_client_fail(lock->client, HF_ESTORE,
                           "no descriptor left; raise the limit (ulimit -n)");
    hf_drive_end(&lock->client->drive, cancel);
    return r;
}

void hf_lock_free(struct hf_lock *lock)
{
    if (lock == NULL || hf_client_check(lock->client) < 0)
        return;
    struct hf_drive *drive = &lock->client->drive;
    int              cancel = hf_drive_begin(drive);
    hf_notices_drop(lock->client, lock);
    hf_client_settle(lock->client, lock);
    if (lock->ops != NULL)
        lock->ops->free(lock);
    hf_lock_post_free(lock);
    hf_drive_turn(drive, false);
    hf_drive_nudge(drive);
    hf_drive_end(drive, cancel);
}
