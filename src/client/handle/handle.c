/* handle.c - the state and the settings of a handle, as the user sees them. */
#include "client/handle/lock.h"
#include "client/look/note.h"

#include <stdlib.h>

const char *hf_name(const struct hf_lock *lock)
{
    return lock != NULL ? lock->name : "";
}

enum hf_state hf_state(const struct hf_lock *lock)
{
    if (lock == NULL)
        return HF_IDLE;
    enum hf_state state = (enum hf_state)atomic_load(&lock->published.state);
    if (hf_client_check(lock->client) == 0)
        return state;
    return state == HF_HELD || state == HF_LOST ? HF_LOST : HF_IDLE;
}

int hf_why(const struct hf_lock *lock)
{
    int r = hf_client_check(hf_lock_client(lock));

    return r < 0 ? r : atomic_load(&lock->published.why);
}

/* A lock, and not one of the parent process. */
static bool is_ours(const struct hf_lock *lock)
{
    return hf_client_check(hf_lock_client(lock)) == 0;
}

uint64_t hf_token(const struct hf_lock *lock)
{
    return is_ours(lock) ? atomic_load(&lock->published.token) : 0;
}

int hf_slot(const struct hf_lock *lock)
{
    return is_ours(lock) ? atomic_load(&lock->published.slot) : -1;
}

int64_t hf_ahead(const struct hf_lock *lock)
{
    return is_ours(lock) ? atomic_load(&lock->published.ahead) : -1;
}

int64_t hf_left_ms(const struct hf_lock *lock)
{
    if (hf_state(lock) != HF_HELD)
        return 0;
    hf_time until = atomic_load(&lock->client->alive_until);
    if (until == HF_NEVER)
        return INT64_MAX;
    hf_time now = hf_now();
    return now < until ? (until - now) / HF_MS : 0;
}

/* Settings are for the next acquire.  A handle that is FREE may not have left yet, and
 * one that is idle may be OUTLIVED. */
static int check_unused(struct hf_lock *lock)
{
    if (lock->owner.state == HF_OWNER_FREE && hf_state(lock) == HF_IDLE)
        return 0;
    return hf_client_fail(lock->client, HF_ESTATE,
                          "\"%s\" is in use; settings can change only while it is idle",
                          lock->name);
}

int hf_set_note(struct hf_lock *lock, const char *note)
{
    struct hf_client *client = hf_lock_client(lock);
    char             *text = NULL;
    int               cancel;

    int r = hf_client_begin(client, &cancel);
    if (r < 0)
        return r;
    r = check_unused(lock);
    if (r == 0 && note != NULL && (text = hf_note_encode(client->command, note)) == NULL)
        r = hf_client_fail(client, HF_ENOMEM, "out of memory");
    if (r == 0) {
        free(lock->settings.note);
        lock->settings.note = text;
    }
    hf_client_end(client, cancel);
    return r;
}

static void set_any_thread(struct hf_lock *lock, uint32_t any_thread)
{
    lock->owner.any_thread = any_thread != 0;
}

static void set_limit(struct hf_lock *lock, uint32_t limit)
{
    lock->settings.limit = limit;
}

static void set_follow(struct hf_lock *lock, uint32_t follow)
{
    lock->settings.follow = follow != 0;
}

static int change_setting(struct hf_lock *lock, void (*set)(struct hf_lock *, uint32_t),
                          uint32_t        value)
{
    int cancel;

    int r = hf_client_begin(hf_lock_client(lock), &cancel);
    if (r < 0)
        return r;
    r = check_unused(lock);
    if (r == 0)
        set(lock, value);
    hf_client_end(lock->client, cancel);
    return r;
}

int hf_set_any_thread(struct hf_lock *lock, bool any_thread)
{
    return change_setting(lock, set_any_thread, any_thread);
}

int hf_set_max_waiters(struct hf_lock *lock, uint32_t max)
{
    return change_setting(lock, set_limit, max);
}

int hf_set_follow(struct hf_lock *lock, bool follow)
{
    return change_setting(lock, set_follow, follow);
}
