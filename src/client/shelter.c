/* shelter.c - see shelter.h. */
#include "client/shelter.h"

#include "client/lock.h"

#include <assert.h>
#include <string.h>

/* Handles that one thread has of one name are in the same chain. */
static struct hf_lock **chain_of(const struct hf_lock *lock, uint64_t thread)
{
    uint64_t mixed = (thread ^ lock->hash) * 0x9e3779b97f4a7c15u; /* Fibonacci hashing */

    return &lock->client->had[(mixed >> 32) % HF_HAD_CHAINS];
}

void hf_shelter_note(struct hf_lock *lock, bool had)
{
    hf_lock_link(lock, HF_LIST_HAD, had ? chain_of(lock, lock->owner.thread) : NULL);
}

static bool is_held_by_me(const struct hf_lock *other, const char *name)
{
    return hf_owner_is_me(&other->owner) && hf_state(other) == HF_HELD &&
           strcmp(other->name, name) == 0;
}

static bool may_read_under(const struct hf_shape *held, const struct hf_shape *wish)
{
    return held->capacity == HF_ALL && wish->capacity == HF_ALL && wish->weight == 1;
}

/* Would it ever be granted while this one is held? */
static bool excludes(const struct hf_shape *held, const struct hf_shape *wish)
{
    struct hf_sum ahead = { 0 };

    hf_sum_add(&ahead, held);
    return hf_sum_judge(&ahead, wish) == HF_BLOCKED;
}

static void enter_shelter(struct hf_lock *guest, struct hf_lock *host)
{
    bool lent = host->owner.state == HF_OWNER_LENT;

    assert(lent || host->owner.state == HF_OWNER_BOUND);
    assert(host->owner.thread == hf_acting_for());
    assert(guest->shelter.guests == 0 && host->shelter.host == NULL); /* one roof deep */
    hf_owner_move(guest, HF_OWNER_GUEST);
    guest->shelter.host = host;
    host->shelter.guests++;
    hf_lock_show(guest, HF_HELD, 0);
    atomic_store(&guest->shown.token, lent ? host->shelter.token : hf_token(host));
}

/* The host comes back to the place it lent.  Somebody else may be turning its job, so
 * that what it shows is what it showed before. */
static void take_place_back(struct hf_lock *host)
{
    assert(host->owner.state == HF_OWNER_LENT);
    hf_lock_show(host, HF_HELD, 0);
    atomic_store(&host->shown.token, host->shelter.token);
    hf_owner_move(host, HF_OWNER_BOUND);
}

int hf_shelter_find(struct hf_lock *lock, bool once)
{
    const struct hf_shape *wish = &lock->job.hold.shape;

    assert(!hf_owner_is_me(&lock->owner));
    for (struct hf_lock *other = *chain_of(lock, hf_acting_for()); other != NULL;
         other = hf_lock_next(other, HF_LIST_HAD)) {
        if (!is_held_by_me(other, lock->name))
            continue;
        struct hf_lock *host = other->shelter.host != NULL ? other->shelter.host : other;
        const struct hf_shape *held = &host->job.hold.shape;
        if (may_read_under(held, wish)) {
            if (host == lock)
                take_place_back(host);
            else
                enter_shelter(lock, host);
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

    assert(host->shelter.guests > 0 && host->owner.state == HF_OWNER_BOUND);
    if (host->job.hold.shape.weight == HF_ALL && !host->shown.lessened)
        hf_lock_post_lessen(host, &reader);
    hf_owner_move(host, HF_OWNER_LENT);
    host->shelter.token = hf_token(host);
    hf_lock_show(host, HF_IDLE, 0);
}

struct hf_lock *hf_shelter_leave(struct hf_lock *guest)
{
    struct hf_lock *host = guest->shelter.host;

    assert(guest->owner.state == HF_OWNER_GUEST && host->shelter.guests > 0);
    guest->shelter.host = NULL;
    hf_lock_show(guest, HF_IDLE, 0);
    hf_lock_give_back(guest);
    if (--host->shelter.guests > 0 || host->owner.state != HF_OWNER_LENT)
        return NULL;
    hf_owner_move(host, HF_OWNER_ENDING);
    hf_lock_post_drop(host, 0);
    return host;
}

void hf_shelter_fall(struct hf_lock *host)
{
    if (host->shelter.guests == 0)
        return;
    for (struct hf_lock *lock = *chain_of(host, host->owner.thread); lock != NULL;
         lock = hf_lock_next(lock, HF_LIST_HAD)) {
        if (lock->shelter.host != host)
            continue;
        lock->shelter.host = NULL;
        host->shelter.guests--;
        hf_owner_move(lock, HF_OWNER_FALLEN);
        hf_lock_show(lock, HF_LOST, HF_ELOST);
    }
    assert(host->shelter.guests == 0);
}

bool hf_shelter_lost(struct hf_lock *host)
{
    if (host->owner.state != HF_OWNER_LENT || host->job.hold.state == HF_HOLD_HELD)
        return false;
    assert(host->job.hold.state == HF_HOLD_LOST); /* nobody else drops it */
    hf_owner_move(host, HF_OWNER_ENDING);
    hf_shelter_fall(host);
    hf_lock_post_drop(host, 0); /* nobody else will acknowledge it */
    return true;
}
