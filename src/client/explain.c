/* explain.c - messages about a failed call on a lock. */
#include "client/handle/lock.h"

#include <assert.h>

int hf_lock_fail(struct hf_lock *lock, int code)
{
    struct hf_client *client = lock->client;
    const char       *name = lock->name;

    assert(code < 0);
    switch (code) {
    case HF_EBUSY:
        return hf_client_fail(client, code, "\"%s\" is held by somebody else", name);
    case HF_ETIMEOUT:
        return hf_client_fail(client, code, "\"%s\" did not become free in time", name);
    case HF_ECANCELED:
        return hf_client_fail(client, code, "waiting for \"%s\" was canceled", name);
    case HF_ELOST:
        return hf_client_fail(
            client, code,
            "\"%s\" was lost while held: the work under it was not protected to "
            "the end",
            name);
    case HF_EMISMATCH:
        return hf_client_fail(
            client, code,
            "\"%s\" is in use as another kind of lock; `holdfast show` names "
            "the kind and the holder",
            name);
    case HF_EDEADLOCK:
        return hf_client_fail(
            client, code, "this thread holds \"%s\" already, and would wait for itself",
            name);
    case HF_EDOWN:
        if (lock->published.errmsg[0] == '\0')
            return hf_client_fail(client, code, "\"%s\": the store does not answer",
                                  name);
        break;
    default:
        break;
    }
    return hf_client_fail(client, code, "\"%.100s\": %s", name,
                          lock->published.errmsg[0] != '\0' ? lock->published.errmsg
                                                            : hf_strerror(code));
}

void hf_lock_fail_started(struct hf_lock *lock, int code)
{
    lock->client->failing_started = true;
    (void)hf_lock_fail(lock, code);
    lock->client->failing_started = false;
}

int hf_lock_fail_not_held(struct hf_lock *lock)
{
    assert(hf_state(lock) != HF_HELD);
    if (hf_state(lock) == HF_LOST)
        return hf_lock_fail(lock, HF_ELOST);
    return hf_client_fail(lock->client, HF_ESTATE, "\"%s\" is not held by this handle",
                          lock->name);
}
