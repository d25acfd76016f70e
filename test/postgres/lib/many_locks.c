/* many_locks.c - see many_locks.h. */
#include "many_locks.h"

#include "lib/promise.h"
#include "lib/server.h"

#include <stdio.h>

void locks_make(struct hf_client *client, const char *name, struct hf_lock **ret,
                size_t count)
{
    char one[32];

    for (size_t i = 0; i < count; i++) {
        snprintf(one, sizeof one, "%s-%02zu", name, i);
        assert_int_equal(hf_mutex(client, one, &ret[i]), 0);
    }
}

void locks_free(struct hf_lock **lock, size_t count)
{
    for (size_t i = 0; i < count; i++)
        hf_lock_free(lock[i]);
}

void locks_want(struct hf_lock **lock, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_int_equal(hf_acquire_start(lock[i], ACTOR_LIMIT_MS), 0);
}

void locks_give(struct hf_lock **lock, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_int_equal(hf_release_start(lock[i]), 0);
}

void locks_await(struct hf_lock **lock, size_t count, enum hf_state state)
{
    for (size_t i = 0; i < count; i++)
        lock_await(lock[i], state);
}
