/* shown.c - see shown.h. */
#include "client/shown.h"

#include "base/fork.h"
#include "client/lock.h"

#include <assert.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define TO(state) (1u << HF_##state)

static const unsigned arrows[] = {
    [HF_IDLE] = TO(WAITING) | TO(HELD) | TO(LEAVING),
    [HF_WAITING] = TO(HELD) | TO(LOST) | TO(LEAVING) | TO(IDLE),
    [HF_HELD] = TO(LOST) | TO(LEAVING) | TO(IDLE),
    [HF_LEAVING] = TO(IDLE),
    [HF_LOST] = TO(LEAVING) | TO(IDLE),
};

static const enum hf_state state_of[] = {
    [HF_HOLD_IDLE] = HF_IDLE,       [HF_HOLD_ENTERING] = HF_WAITING,
    [HF_HOLD_WAITING] = HF_WAITING, [HF_HOLD_OUTSIDE] = HF_WAITING,
    [HF_HOLD_HELD] = HF_HELD,       [HF_HOLD_LEAVING] = HF_LEAVING,
    [HF_HOLD_LOST] = HF_LOST,
};

void hf_shown_init(struct hf_shown *shown)
{
    shown->slot = shown->lost_fd = -1;
    shown->ahead = -1;
}

void hf_shown_finish(struct hf_shown *shown)
{
    if (shown->lost_fd >= 0)
        close(shown->lost_fd);
}

/* Readable from the deadline on, and at once when the lock is lost. */
static void set_alarm(const struct hf_lock *lock, enum hf_state state)
{
    struct itimerspec spec = { 0 };
    hf_time           until = atomic_load(&lock->client->alive_until);

    if (lock->shown.lost_fd < 0)
        return;
    if (state == HF_LOST)
        spec.it_value.tv_nsec = 1;
    else if (state == HF_HELD && until != HF_NEVER) {
        spec.it_value.tv_sec = until / HF_SEC;
        spec.it_value.tv_nsec = until % HF_SEC;
    }
    timerfd_settime(lock->shown.lost_fd, TFD_TIMER_ABSTIME, &spec, NULL);
}

/* Others have a stake in it: threads, guests, what it is a part of, the user. */
static void tell_of(struct hf_lock *lock, enum hf_state state, int why)
{
    bool granted = state == HF_HELD || state == HF_LOST;

    if (granted && lock->owner.state == HF_OWNER_STARTED)
        hf_owner_move(lock, HF_OWNER_LOOSE);
    if (state != HF_HELD)
        hf_asked_reset(lock);
    if (state != HF_HELD && lock->owner.state != HF_OWNER_LENT)
        hf_shelter_fall(lock);
    if (state == HF_LOST && lock->part.on_lost != NULL)
        lock->part.on_lost(lock);
    if (!lock->freeing)
        hf_notice_state(lock, state, why);
}

void hf_lock_show(struct hf_lock *lock, enum hf_state state, int why)
{
    struct hf_shown *shown = &lock->shown;
    enum hf_state    before = hf_state(lock);
    bool             held = state == HF_HELD;
    bool             own = held && hf_owner_has_place(&lock->owner);

    assert(why <= 0 && (!held || why == 0));
    atomic_store(&shown->token, own ? lock->job.hold.token : 0);
    atomic_store(&shown->slot, own ? lock->job.hold.slot : -1);
    atomic_store(&shown->why, why);
    if (before == state)
        return;
    assert((arrows[before] & 1u << state) != 0);
    atomic_store(&shown->ahead, held ? 0 : -1); /* a thread that sees it held sees 0 */
    atomic_store(&shown->state, (int)state);
    hf_lock_link(lock, HF_LIST_HELD, held ? &lock->client->held : NULL);
    set_alarm(lock, state); /* not before: who is woken by it sees that it is lost */
    hf_stats_count(lock, before, state, why);
    tell_of(lock, state, why);
}

static void show_ahead(struct hf_lock *lock)
{
    const struct hf_job *job = &lock->job;
    bool waits = job->hold.state == HF_HOLD_WAITING || job->hold.state == HF_HOLD_OUTSIDE;

    if (hf_state(lock) != HF_WAITING || !waits)
        return;
    int64_t ahead = (int64_t)job->known.ahead;
    int64_t before = atomic_exchange(&lock->shown.ahead, ahead);
    if (before < 0 && lock->part.hook != NULL)
        hf_notice_state(lock, HF_WAITING, 0);
    if (before != ahead)
        hf_notice_place(lock, ahead);
}

static void show_hold(struct hf_lock *lock)
{
    const struct hf_hold *hold = &lock->job.hold;
    struct hf_shown      *shown = &lock->shown;

    assert(hold->state != HF_HOLD_HELD || hold->id != 0);
    memcpy(shown->errmsg, lock->job.errmsg, sizeof shown->errmsg);
    shown->place = hold->id;
    shown->lessened =
        hold->state == HF_HOLD_HELD && hold->lesser.weight != 0 && !hold->lessen;
    if (hf_owner_has_place(&lock->owner))
        hf_lock_show(lock, state_of[hold->state], hold->why);
    show_ahead(lock);
    hf_asked_show(lock);
}

/* A wish that belongs to no thread ends by itself. */
static void end_wish(struct hf_lock *lock)
{
    enum hf_owner_state state = lock->owner.state;

    if (hf_state(lock) == HF_IDLE &&
        (state == HF_OWNER_STARTED || state == HF_OWNER_ENDING))
        hf_owner_move(lock, HF_OWNER_FREE);
}

void hf_lock_publish(struct hf_lock *lock)
{
    if (hf_lock_is_posted(lock))
        return;
    bool needed = lock->owner.state == HF_OWNER_RELEASING; /* by the thread that waits */
    if (lock->freeing && !needed && hf_job_quiet(&lock->job)) {
        hf_job_finish(&lock->job);
        hf_lock_destroy(lock);
        return;
    }
    assert(lock->job.engine != NULL);
    if (hf_shelter_lost(lock))
        return;
    bool alone = hf_state(lock) == HF_WAITING && lock->owner.state == HF_OWNER_STARTED;

    show_hold(lock);
    if (alone && hf_why(lock) < 0) /* nobody waits for it: hf_errmsg() tells */
        hf_lock_fail_wish(lock, hf_why(lock));
    end_wish(lock);
}

void hf_lock_set_alarm(struct hf_lock *lock)
{
    set_alarm(lock, hf_state(lock));
}

int hf_lost_fd(struct hf_lock *lock)
{
    int cancel;

    int r = hf_client_begin(hf_lock_client(lock), &cancel);
    if (r < 0)
        return r;
    if (lock->shown.lost_fd < 0) {
        hf_low_take();
        lock->shown.lost_fd = timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
        hf_low_give();
        hf_lock_set_alarm(lock);
    }
    r = hf_client_need_fd(lock->client, lock->shown.lost_fd);
    hf_client_end(lock->client, cancel);
    return r;
}
