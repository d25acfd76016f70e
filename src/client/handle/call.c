/* call.c - the five calls of every handle, plain or a set. */
#include "client/handle/lock.h"

const struct hf_lock_ops hf_plain_ops = {
    .acquire = hf_plain_acquire,
    .release = hf_plain_release,
    .acquire_start = hf_plain_acquire_start,
    .release_start = hf_plain_release_start,
    .cancel = hf_plain_cancel,
};

/* For NULL any will do: hf_client_begin() fails before they are called. */
static const struct hf_lock_ops *ops_of(const struct hf_lock *lock)
{
    return lock != NULL ? lock->ops : &hf_plain_ops;
}

static int call_timed(struct hf_lock *lock, int (*op)(struct hf_lock *, int64_t),
                      int64_t         timeout_ms)
{
    struct hf_client *client = hf_lock_client(lock);
    int               cancel;

    int r = hf_client_begin(client, &cancel);
    if (r < 0)
        return r;
    r = op(lock, timeout_ms);
    hf_client_end(client, cancel);
    return r;
}

static int call_untimed(struct hf_lock *lock, int (*op)(struct hf_lock *))
{
    struct hf_client *client = hf_lock_client(lock);
    int               cancel;

    int r = hf_client_begin(client, &cancel);
    if (r < 0)
        return r;
    r = op(lock);
    hf_client_end(client, cancel);
    return r;
}

int hf_acquire(struct hf_lock *lock, int64_t timeout_ms)
{
    return call_timed(lock, ops_of(lock)->acquire, timeout_ms);
}

int hf_acquire_start(struct hf_lock *lock, int64_t timeout_ms)
{
    hf_client_hear_started(hf_lock_client(lock));
    return call_timed(lock, ops_of(lock)->acquire_start, timeout_ms);
}

int hf_release(struct hf_lock *lock)
{
    return call_untimed(lock, ops_of(lock)->release);
}

int hf_release_start(struct hf_lock *lock)
{
    return call_untimed(lock, ops_of(lock)->release_start);
}

int hf_cancel(struct hf_lock *lock)
{
    return call_untimed(lock, ops_of(lock)->cancel);
}
