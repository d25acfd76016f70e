/* owner.c - see owner.h. */
#include "client/handle/owner.h"

#include "client/handle/lock.h"

#include <assert.h>

/* 0: for the thread itself. */
static _Thread_local uint64_t acting_for;

uint64_t hf_acting_for(void)
{
    return acting_for != 0 ? acting_for : (uint64_t)pthread_self();
}

void hf_act_for(uint64_t owner)
{
    acting_for = owner;
}

#define TO(state) (1u << HF_OWNER_##state)

static const unsigned arrows[] = {
    [HF_OWNER_FREE] = TO(TAKEN) | TO(STARTED) | TO(INNER),
    [HF_OWNER_TAKEN] = TO(BOUND) | TO(LOOSE) | TO(INNER) | TO(FREE),
    [HF_OWNER_STARTED] = TO(LOOSE) | TO(FREE),
    [HF_OWNER_BOUND] = TO(OUTLIVED) | TO(ENDING) | TO(RELEASING) | TO(FREE),
    [HF_OWNER_LOOSE] = TO(ENDING) | TO(RELEASING) | TO(FREE),
    [HF_OWNER_INNER] = TO(INNER_LOST) | TO(FREE),
    [HF_OWNER_INNER_LOST] = TO(FREE),
    [HF_OWNER_OUTLIVED] = TO(BOUND) | TO(ENDING),
    [HF_OWNER_ENDING] = TO(RELEASING) | TO(FREE),
    [HF_OWNER_RELEASING] = TO(FREE),
};

static bool is_one_of(const struct hf_owner *owner, unsigned states)
{
    return (1u << owner->state & states) != 0;
}

static bool is_counted(const struct hf_owner *owner)
{
    return is_one_of(owner, TO(BOUND) | TO(INNER) | TO(INNER_LOST));
}

static bool has_thread(const struct hf_owner *owner)
{
    return is_counted(owner) ||
           is_one_of(owner, TO(TAKEN) | TO(OUTLIVED) | TO(RELEASING));
}

static bool is_this_thread(const struct hf_owner *owner)
{
    return has_thread(owner) && owner->thread == hf_acting_for();
}

void hf_owner_move(struct hf_lock *lock, enum hf_owner_state to)
{
    struct hf_owner *owner = &lock->owner;
    bool             had_thread = has_thread(owner);
    bool             counted = is_counted(owner);

    assert((arrows[owner->state] & 1u << to) != 0);
    owner->state = to;
    if (has_thread(owner) && !had_thread)
        owner->thread = hf_acting_for();
    if (is_counted(owner) != counted) {
        owner->count = counted ? 0 : 1;
        hf_nested_index(lock, !counted);
    }
    /* A thread becomes the owner itself, never for another. */
    assert(to != HF_OWNER_BOUND || is_this_thread(owner));
    assert((owner->count > 0) == is_counted(owner));
}

bool hf_owner_is_me(const struct hf_owner *owner)
{
    return is_counted(owner) && is_this_thread(owner);
}

bool hf_owner_is_other(const struct hf_owner *owner)
{
    bool keeps = is_counted(owner) || owner->state == HF_OWNER_TAKEN;

    return keeps && !hf_owner_is_me(owner);
}

bool hf_owner_is_outlived(const struct hf_owner *owner)
{
    return owner->state == HF_OWNER_OUTLIVED && is_this_thread(owner);
}

bool hf_owner_has_place(const struct hf_owner *owner)
{
    return !is_one_of(owner, TO(INNER) | TO(INNER_LOST) | TO(OUTLIVED));
}

/* A handle that was released without waiting is FREE before it has left. */
static bool can_be_taken(const struct hf_lock *lock)
{
    return lock->owner.state == HF_OWNER_FREE && hf_state(lock) == HF_IDLE;
}

bool hf_lock_is_free(const struct hf_lock *lock)
{
    return can_be_taken(lock) && lock->owner.queue == NULL;
}

static bool may_take(void *arg)
{
    const struct hf_queued *me = arg;
    const struct hf_lock   *lock = me->lock;

    return lock->owner.cancels != me->cancels ||
           (can_be_taken(lock) && lock->owner.queue == me);
}

static void join_queue(struct hf_owner *owner, struct hf_queued *me)
{
    struct hf_queued **at = &owner->queue;

    while (*at != NULL)
        at = &(*at)->next;
    *at = me;
}

static void leave_queue(struct hf_owner *owner, struct hf_queued *me)
{
    struct hf_queued **at = &owner->queue;

    while (*at != me) {
        assert(*at != NULL); /* each thread removes itself */
        at = &(*at)->next;
    }
    *at = me->next;
}

int hf_lock_take(struct hf_lock *lock, bool once, hf_time deadline)
{
    struct hf_owner *owner = &lock->owner;
    struct hf_queued me = { .lock = lock, .cancels = owner->cancels };

    if (once && (owner->state != HF_OWNER_FREE || owner->queue != NULL))
        return HF_EBUSY;
    join_queue(owner, &me);
    int r = hf_drive_wait(&lock->client->drive, may_take, &me, deadline);
    leave_queue(owner, &me);
    if (r == 0 && owner->cancels != me.cancels)
        r = HF_ECANCELED;
    if (r < 0)
        hf_drive_rouse(&lock->client->drive); /* another thread may be first now */
    else
        hf_owner_move(lock, HF_OWNER_TAKEN);
    return r;
}

int hf_lock_take_for_nobody(struct hf_lock *lock)
{
    if (!hf_lock_is_free(lock))
        return hf_client_fail(lock->client, HF_ESTATE, "the handle for \"%s\" is in use",
                              lock->name);
    hf_owner_move(lock, HF_OWNER_STARTED);
    return 0;
}

void hf_lock_granted(struct hf_lock *lock)
{
    struct hf_owner *owner = &lock->owner;

    if (owner->state == HF_OWNER_INNER) /* by hf_nested_acquire() */
        return;
    hf_owner_move(lock, owner->any_thread ? HF_OWNER_LOOSE : HF_OWNER_BOUND);
}

int hf_lock_acquire_again(struct hf_lock *lock)
{
    assert(hf_owner_is_me(&lock->owner));
    if (hf_state(lock) != HF_HELD)
        return hf_lock_fail(lock, HF_ELOST);
    if (lock->published.downgraded) /* the caller would take it for a writer */
        return hf_lock_fail(lock, HF_EDEADLOCK);
    lock->owner.count++;
    return 0;
}

void hf_lock_give_back(struct hf_lock *lock)
{
    hf_owner_move(lock, HF_OWNER_FREE);
    hf_drive_rouse(&lock->client->drive);
}
