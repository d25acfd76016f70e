/* shelter.c - see shelter.h. */
#include "client/shelter.h"

#include <assert.h>
#include <string.h>

static bool is_own(const struct hf_lock *other, const struct hf_lock *lock)
{
    return other != lock && other->bound && other->depth > 0 && other->state == HF_HELD &&
           other->shelter == NULL && pthread_equal(other->owner, pthread_self()) &&
           strcmp(other->name, lock->name) == 0;
}

static bool may_read_under(const struct hf_shape *held, const struct hf_shape *wish)
{
    return held->capacity == HF_ALL && wish->capacity == HF_ALL && wish->weight == 1;
}

/* Would it ever be granted while this one is held? */
static bool excludes(const struct hf_shape *held, const struct hf_shape *wish)
{
    struct hf_ticket  ticket = { .shape = *held };
    struct hf_line    ahead = { .ticket = &ticket, .count = 1 };
    struct hf_verdict verdict = hf_line_judge(&ahead, wish);

    return !verdict.granted && !verdict.mismatch;
}

static void take_shelter(struct hf_lock *lock, struct hf_lock *over)
{
    lock->shelter = over;
    over->sheltered++;
    hf_lock_show(lock, HF_HELD, 0);
    atomic_store(&lock->token, hf_token(over));
}

int hf_shelter_find(struct hf_lock *lock, bool once)
{
    const struct hf_shape *wish = &lock->job.hold.shape;

    for (struct hf_lock *other = lock->client->locks; other != NULL; other = other->next) {
        if (!is_own(other, lock))
            continue;
        const struct hf_shape *held = &other->job.hold.shape;
        if (may_read_under(held, wish)) {
            take_shelter(lock, other);
            return 1;
        }
        if (excludes(held, wish))
            return once ? HF_EBUSY : HF_EDEADLOCK;
    }
    return 0;
}

void hf_shelter_leave(struct hf_lock *lock)
{
    if (lock->shelter == NULL)
        return;
    assert(lock->shelter->sheltered > 0);
    lock->shelter->sheltered--;
    lock->shelter = NULL;
    hf_lock_show(lock, HF_IDLE, 0);
}

void hf_shelter_fall(struct hf_lock *lock)
{
    if (lock->sheltered == 0)
        return;
    for (struct hf_lock *other = lock->client->locks; other != NULL; other = other->next) {
        if (other->shelter != lock)
            continue;
        other->shelter = NULL;
        other->fallen = true;
        hf_lock_show(other, HF_LOST, HF_ELOST);
    }
    lock->sheltered = 0;
}
