/* nested.c - see nested.h. */
#include "client/handle/nested.h"

#include "client/handle/lock.h"

#include <assert.h>
#include <string.h>

/* Handles of one name that one thread owns are in the same chain. */
static struct hf_lock **chain_of(const struct hf_lock *lock, uint64_t thread)
{
    uint64_t mixed = (thread ^ lock->hash) * 0x9e3779b97f4a7c15u; /* Fibonacci hashing */

    return &lock->client->owned[(mixed >> 32) % HF_OWNED_CHAINS];
}

void hf_nested_index(struct hf_lock *lock, bool owned)
{
    hf_lock_link(lock, HF_LIST_OWNED, owned ? chain_of(lock, lock->owner.thread) : NULL);
}

static bool is_held_by_me(const struct hf_lock *other, const char *name)
{
    return hf_owner_is_me(&other->owner) && hf_state(other) == HF_HELD &&
           strcmp(other->name, name) == 0;
}

static bool may_read_under(const struct hf_shape *held, const struct hf_shape *wanted)
{
    return held->capacity == HF_ALL && wanted->capacity == HF_ALL && wanted->weight == 1;
}

/* Would it have to wait for the lock that is held? */
static bool excludes(const struct hf_shape *held, const struct hf_shape *wanted)
{
    struct hf_sum ahead = { 0 };

    hf_sum_add(&ahead, held);
    return hf_sum_judge(&ahead, wanted) == HF_BLOCKED;
}

static void become_inner(struct hf_lock *inner, struct hf_lock *outer)
{
    bool outlived = outer->owner.state == HF_OWNER_OUTLIVED;

    assert(outlived || outer->owner.state == HF_OWNER_BOUND);
    assert(outer->owner.thread == hf_acting_for());
    assert(inner->nested.inner == 0 && outer->nested.outer == NULL); /* one level */
    hf_owner_move(inner, HF_OWNER_INNER);
    inner->nested.outer = outer;
    outer->nested.inner++;
    hf_lock_set_state(inner, HF_HELD, 0);
    atomic_store(&inner->published.token,
                 outlived ? outer->nested.token : hf_token(outer));
}

/* Acquire an outlived handle again.  Another thread may be turning the engine, so its
 * job must not be read: publish the token that was published before. */
static void acquire_outlived(struct hf_lock *outer)
{
    assert(outer->owner.state == HF_OWNER_OUTLIVED);
    hf_lock_set_state(outer, HF_HELD, 0);
    atomic_store(&outer->published.token, outer->nested.token);
    hf_owner_move(outer, HF_OWNER_BOUND);
}

int hf_nested_acquire(struct hf_lock *lock, bool once)
{
    const struct hf_shape *wanted = &lock->job.hold.shape;

    assert(!hf_owner_is_me(&lock->owner));
    for (struct hf_lock *other = *chain_of(lock, hf_acting_for()); other != NULL;
         other = hf_lock_next(other, HF_LIST_OWNED)) {
        if (!is_held_by_me(other, lock->name))
            continue;
        struct hf_lock *outer = other->nested.outer != NULL ? other->nested.outer : other;
        const struct hf_shape *held = &outer->job.hold.shape;
        if (may_read_under(held, wanted)) {
            if (outer == lock)
                acquire_outlived(outer);
            else
                become_inner(lock, outer);
            return 1;
        }
        if (excludes(held, wanted))
            return once ? HF_EBUSY : HF_EDEADLOCK;
    }
    return 0;
}

void hf_nested_release_outer(struct hf_lock *outer)
{
    const struct hf_shape reader = { .weight = 1, .capacity = HF_ALL };

    assert(outer->nested.inner > 0 && outer->owner.state == HF_OWNER_BOUND);
    if (outer->job.hold.shape.weight == HF_ALL && !outer->published.downgraded)
        hf_lock_post_downgrade(outer, &reader);
    hf_owner_move(outer, HF_OWNER_OUTLIVED);
    outer->nested.token = hf_token(outer);
    hf_lock_set_state(outer, HF_IDLE, 0);
}

struct hf_lock *hf_nested_release_inner(struct hf_lock *inner)
{
    struct hf_lock *outer = inner->nested.outer;

    assert(inner->owner.state == HF_OWNER_INNER && outer->nested.inner > 0);
    inner->nested.outer = NULL;
    hf_lock_set_state(inner, HF_IDLE, 0);
    hf_lock_give_back(inner);
    if (--outer->nested.inner > 0 || outer->owner.state != HF_OWNER_OUTLIVED)
        return NULL;
    hf_owner_move(outer, HF_OWNER_ENDING);
    hf_lock_post_drop(outer, 0);
    return outer;
}

void hf_nested_lose_inner(struct hf_lock *outer)
{
    if (outer->nested.inner == 0)
        return;
    for (struct hf_lock *lock = *chain_of(outer, outer->owner.thread); lock != NULL;
         lock = hf_lock_next(lock, HF_LIST_OWNED)) {
        if (lock->nested.outer != outer)
            continue;
        lock->nested.outer = NULL;
        outer->nested.inner--;
        hf_owner_move(lock, HF_OWNER_INNER_LOST);
        hf_lock_set_state(lock, HF_LOST, HF_ELOST);
    }
    assert(outer->nested.inner == 0);
}

bool hf_nested_outer_lost(struct hf_lock *outer)
{
    if (outer->owner.state != HF_OWNER_OUTLIVED || outer->job.hold.state == HF_HOLD_HELD)
        return false;
    assert(outer->job.hold.state == HF_HOLD_LOST); /* nobody else drops it */
    hf_owner_move(outer, HF_OWNER_ENDING);
    hf_nested_lose_inner(outer);
    hf_lock_post_drop(outer, 0); /* acknowledge the loss */
    return true;
}
