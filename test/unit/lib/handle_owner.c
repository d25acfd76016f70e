/* handle_owner.c - see handle_owner.h. */
#include "unit/lib/handle_owner.h"

#include "lib/recipe.h"

#include <unistd.h>

enum hf_owner_state owner_of(struct hf_lock *lock)
{
    int                 cancel = hf_drive_begin(&lock->client->drive);
    enum hf_owner_state state = lock->owner.state;

    hf_drive_end(&lock->client->drive, cancel);
    return state;
}

void await_owner(struct hf_lock *lock, enum hf_owner_state state)
{
    for (int64_t start = recipe_ms(); owner_of(lock) != state; usleep(500))
        if (recipe_ms() > start + 10000)
            fail_msg("the owner is %d, not %d", (int)owner_of(lock), (int)state);
}

int call_acquire(struct hf_lock *lock)
{
    return hf_acquire(lock, 10000);
}

int call_acquire_and_release(struct hf_lock *lock)
{
    int r = hf_acquire(lock, 10000);

    return r == 0 ? hf_release(lock) : r;
}

static void *make_call(void *data)
{
    struct call *call = data;

    call->result = call->verb(call->lock);
    return NULL;
}

void begin_call(struct call *call, int (*verb)(struct hf_lock *), struct hf_lock *lock)
{
    *call = (struct call){ .lock = lock, .verb = verb };
    assert_int_equal(pthread_create(&call->thread, NULL, make_call, call), 0);
}

int end_call(struct call *call)
{
    assert_int_equal(pthread_join(call->thread, NULL), 0);
    return call->result;
}
