/* handle.c - small questions to, and settings of, a lock handle. */
#include "client/lock.h"
#include "client/note.h"

#include <stdlib.h>

const char *hf_name(const struct hf_lock *lock)
{
    return lock->name;
}

enum hf_state hf_state(const struct hf_lock *lock)
{
    return (enum hf_state)atomic_load(&lock->state);
}

int hf_why(const struct hf_lock *lock)
{
    return atomic_load(&lock->why);
}

uint64_t hf_token(const struct hf_lock *lock)
{
    return atomic_load(&lock->token);
}

int hf_slot(const struct hf_lock *lock)
{
    return atomic_load(&lock->slot);
}

int64_t hf_ahead(const struct hf_lock *lock)
{
    return atomic_load(&lock->ahead);
}

int64_t hf_left_ms(const struct hf_lock *lock)
{
    hf_time until = atomic_load(&lock->client->alive_until);

    if (hf_state(lock) != HF_HELD || hf_client_check(lock->client) < 0)
        return 0;
    if (until == HF_NEVER)
        return INT64_MAX;
    hf_time now = hf_now();
    return now < until ? (until - now) / HF_MS : 0;
}

static int not_idle(struct hf_lock *lock)
{
    return hf_client_fail(lock->client, HF_ESTATE,
                          "\"%s\" is in use; settings can change only while it is idle",
                          lock->name);
}

int hf_set_note(struct hf_lock *lock, const char *note)
{
    int r = hf_client_check(lock->client);
    if (r < 0)
        return r;
    int   cancel = hf_drive_begin(&lock->client->drive);
    char *text = NULL;
    if (lock->busy || lock->state != HF_IDLE)
        r = not_idle(lock);
    else if (note != NULL && (text = hf_note_encode(lock->client->command, note)) == NULL)
        r = hf_client_fail(lock->client, HF_ENOMEM, "out of memory");
    if (r == 0) {
        free(lock->note);
        lock->note = text;
    }
    hf_drive_end(&lock->client->drive, cancel);
    return r;
}

/* The settings that are kept until the next acquire. */
struct setting {
    bool     any_thread, follow;
    uint32_t limit;
};

static int change(struct hf_lock *lock, void (*apply)(struct hf_lock *, struct setting),
                  struct setting  setting)
{
    int r = hf_client_check(lock->client);
    if (r < 0)
        return r;
    int cancel = hf_drive_begin(&lock->client->drive);
    if (lock->busy || lock->state != HF_IDLE)
        r = not_idle(lock);
    else
        apply(lock, setting);
    hf_drive_end(&lock->client->drive, cancel);
    return r;
}

static void set_any_thread(struct hf_lock *lock, struct setting setting)
{
    lock->any_thread = setting.any_thread;
}

static void set_limit(struct hf_lock *lock, struct setting setting)
{
    lock->limit = setting.limit;
}

static void set_follow(struct hf_lock *lock, struct setting setting)
{
    lock->follow = setting.follow;
}

int hf_set_any_thread(struct hf_lock *lock, bool any_thread)
{
    return change(lock, set_any_thread, (struct setting){ .any_thread = any_thread });
}

int hf_set_max_waiters(struct hf_lock *lock, uint32_t max)
{
    return change(lock, set_limit, (struct setting){ .limit = max });
}

int hf_set_follow(struct hf_lock *lock, bool follow)
{
    return change(lock, set_follow, (struct setting){ .follow = follow });
}
