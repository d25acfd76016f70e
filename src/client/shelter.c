/* shelter.c - see shelter.h. */
#include "client/shelter.h"

#include <assert.h>
#include <string.h>

static bool is_own(const struct hf_lock *other, const struct hf_lock *lock)
{
    return other != lock && other->bound && other->depth > 0 && other->state == HF_HELD &&
           pthread_equal(other->owner, pthread_self()) &&
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

static void take_shelter(struct hf_lock *lock, struct hf_lock *host)
{
    lock->shelter = host;
    host->sheltered++;
    hf_lock_show(lock, HF_HELD, 0);
    atomic_store(&lock->token, host->lent ? host->lent_token : hf_token(host));
}

/* The host comes back to the place it lent. */
static void take_back(struct hf_lock *host)
{
    host->lent = false;
    hf_lock_show(host, HF_HELD, 0);
}

int hf_shelter_find(struct hf_lock *lock, bool once)
{
    const struct hf_shape *wish = &lock->job.hold.shape;

    for (struct hf_lock *other = lock->client->locks; other != NULL;
         other = other->next) {
        if (!is_own(other, lock))
            continue;
        struct hf_lock        *host = other->shelter != NULL ? other->shelter : other;
        const struct hf_shape *held = &host->job.hold.shape;
        if (may_read_under(held, wish)) {
            if (host == lock)
                take_back(host);
            else
                take_shelter(lock, host);
            return 1;
        }
        if (excludes(held, wish))
            return once ? HF_EBUSY : HF_EDEADLOCK;
    }
    return 0;
}

void hf_shelter_lend(struct hf_lock *host)
{
    const struct hf_shape reader = { .weight = 1, .capacity = HF_ALL };

    assert(host->sheltered > 0);
    if (host->job.hold.shape.weight == HF_ALL && !host->lessened)
        hf_lock_post_lessen(host, &reader);
    host->lent = true;
    host->lent_token = hf_token(host);
    host->bound = false;
    host->depth = 0;
    hf_lock_show(host, HF_IDLE, 0);
}

struct hf_lock *hf_shelter_leave(struct hf_lock *lock)
{
    struct hf_lock *host = lock->shelter;

    if (host == NULL)
        return NULL;
    assert(host->sheltered > 0);
    lock->shelter = NULL;
    hf_lock_show(lock, HF_IDLE, 0);
    if (--host->sheltered > 0 || !host->lent)
        return NULL;
    host->lent = false;
    hf_lock_post_drop(host, 0);
    return host;
}

void hf_shelter_fall(struct hf_lock *host)
{
    if (host->sheltered == 0)
        return;
    for (struct hf_lock *lock = host->client->locks; lock != NULL; lock = lock->next) {
        if (lock->shelter != host)
            continue;
        lock->shelter = NULL;
        lock->fallen = true;
        hf_lock_show(lock, HF_LOST, HF_ELOST);
    }
    host->sheltered = 0;
}

void hf_shelter_check(struct hf_lock *host)
{
    if (!host->lent || host->job.hold.state == HF_HOLD_HELD)
        return;
    host->lent = false;
    hf_shelter_fall(host);
    if (host->job.hold.state == HF_HOLD_LOST)
        hf_lock_post_drop(host, 0); /* nobody else will acknowledge it */
}
