/* published.c - see published.h. */
#include "client/handle/published.h"

#include "base/fork.h"
#include "client/handle/lock.h"

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

void hf_published_init(struct hf_published *published)
{
    published->slot = published->lost_fd = -1;
    published->ahead = -1;
}

void hf_published_finish(struct hf_published *published)
{
    if (published->lost_fd >= 0)
        close(published->lost_fd);
}

/* Readable from the deadline on, and at once when the lock is lost. */
static void set_alarm(const struct hf_lock *lock, enum hf_state state)
{
    struct itimerspec spec = { 0 };
    hf_time           until = atomic_load(&lock->client->alive_until);

    if (lock->published.lost_fd < 0)
        return;
    if (state == HF_LOST)
        spec.it_value.tv_nsec = 1;
    else if (state == HF_HELD && until != HF_NEVER) {
        spec.it_value.tv_sec = until / HF_SEC;
        spec.it_value.tv_nsec = until % HF_SEC;
    }
    timerfd_settime(lock->published.lost_fd, TFD_TIMER_ABSTIME, &spec, NULL);
}

/* Update what depends on the state: the owner, inner handles, the set, the user. */
static void notify_others(struct hf_lock *lock, enum hf_state state, int why)
{
    bool granted = state == HF_HELD || state == HF_LOST;

    if (granted && lock->owner.state == HF_OWNER_STARTED)
        hf_owner_move(lock, HF_OWNER_LOOSE);
    if (state != HF_HELD)
        hf_asked_reset(lock);
    if (state != HF_HELD && lock->owner.state != HF_OWNER_OUTLIVED)
        hf_nested_lose_inner(lock);
    if (state == HF_LOST && lock->member.on_lost != NULL)
        lock->member.on_lost(lock);
    if (!lock->freeing)
        hf_callback_state(lock, state, why);
}

void hf_lock_set_state(struct hf_lock *lock, enum hf_state state, int why)
{
    struct hf_published *published = &lock->published;
    enum hf_state        before = hf_state(lock);
    bool                 held = state == HF_HELD;
    bool                 own = held && hf_owner_has_place(&lock->owner);

    assert(why <= 0 && (!held || why == 0));
    atomic_store(&published->token, own ? lock->job.hold.token : 0);
    atomic_store(&published->slot, own ? lock->job.hold.slot : -1);
    atomic_store(&published->why, why);
    if (before == state)
        return;
    assert((arrows[before] & 1u << state) != 0);
    atomic_store(&published->ahead, held ? 0 : -1); /* first: HELD implies 0 */
    atomic_store(&published->state, (int)state);
    hf_lock_link(lock, HF_LIST_HELD, held ? &lock->client->held : NULL);
    set_alarm(lock, state); /* last: a thread that it wakes sees LOST */
    hf_stats_count(lock, before, state, why);
    notify_others(lock, state, why);
}

static void publish_ahead(struct hf_lock *lock)
{
    const struct hf_job *job = &lock->job;
    bool waits = job->hold.state == HF_HOLD_WAITING || job->hold.state == HF_HOLD_OUTSIDE;

    if (hf_state(lock) != HF_WAITING || !waits)
        return;
    int64_t ahead = (int64_t)job->known.ahead;
    int64_t before = atomic_exchange(&lock->published.ahead, ahead);
    if (before < 0 && lock->member.hook != NULL)
        hf_callback_state(lock, HF_WAITING, 0);
    if (before != ahead)
        hf_callback_place(lock, ahead);
}

static void publish_hold(struct hf_lock *lock)
{
    const struct hf_hold *hold = &lock->job.hold;
    struct hf_published  *published = &lock->published;

    assert(hold->state != HF_HOLD_HELD || hold->id != 0);
    memcpy(published->errmsg, lock->job.errmsg, sizeof published->errmsg);
    published->place = hold->id;
    published->downgraded =
        hold->state == HF_HOLD_HELD && hold->lesser.weight != 0 && !hold->downgrade;
    if (hf_owner_has_place(&lock->owner))
        hf_lock_set_state(lock, state_of[hold->state], hold->why);
    published->denied = hold->state == HF_HOLD_LEAVING && lock->job.failure == HF_EDENIED;
    publish_ahead(lock);
    hf_asked_publish(lock);
}

/* An acquire or release that no thread waits for. */
static void end_started(struct hf_lock *lock)
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
    bool needed = lock->owner.state == HF_OWNER_RELEASING; /* a thread waits for it */
    if (lock->freeing && !needed && hf_job_quiet(&lock->job)) {
        hf_job_finish(&lock->job);
        hf_lock_destroy(lock);
        return;
    }
    assert(lock->job.engine != NULL);
    if (hf_nested_outer_lost(lock))
        return;
    bool started = hf_state(lock) == HF_WAITING && lock->owner.state == HF_OWNER_STARTED;

    publish_hold(lock);
    if (started && hf_why(lock) < 0) /* no thread waits for it: remember the message */
        hf_lock_fail_started(lock, hf_why(lock));
    end_started(lock);
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
    if (lock->published.lost_fd < 0) {
        hf_low_take();
        lock->published.lost_fd =
            timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
        hf_low_give();
        hf_lock_set_alarm(lock);
    }
    r = hf_client_need_fd(lock->client, lock->published.lost_fd);
    hf_client_end(lock->client, cancel);
    return r;
}
