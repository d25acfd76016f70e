/* check.c - hf_check() and hf_verify(): is it still held?
 *
 * All members of a set are verified at once.  If the store answers no, sync_query.c
 * steps the hold, so that the lock is published as lost before anybody sees the answer.
 */
#include "client/handle/lock.h"
#include "client/look/sync_query.h"

#include <assert.h>
#include <stdlib.h>

struct check {
    struct hf_lock        *lock;
    struct hf_lock *const *member;
    size_t                 count;
    struct hf_sync_query **query; /* of each member */
    size_t                 started;
};

static bool is_settled(void *arg)
{
    const struct check *check = arg;

    if (hf_state(check->lock) != HF_HELD) /* lost meanwhile */
        return true;
    for (size_t i = 0; i < check->started; i++)
        if (!check->query[i]->done)
            return false;
    return true;
}

static int start_verifying(struct check *check, struct hf_limit limit)
{
    int r = 0;

    for (; r == 0 && check->started < check->count; check->started += r == 0) {
        const struct hf_lock *member = check->member[check->started];
        /* An inner handle uses the place of its outer one. */
        const struct hf_lock *outer =
            member->nested.outer != NULL ? member->nested.outer : member;
        struct hf_req req = { .op = HF_VERIFY,
                              .name = member->name,
                              .id = outer->published.place };
        r = hf_sync_query_start(member->client, &req, limit,
                                &check->query[check->started]);
    }
    return r;
}

/* HF_ELOST counts more than a code that means "not known". */
static int worst_result(const struct check *check)
{
    int r = 0;

    for (size_t i = 0; i < check->started && r != HF_ELOST; i++) {
        assert(check->query[i] != NULL);
        int one = hf_sync_query_result(check->query[i]);
        if (one == HF_ELOST || r == 0)
            r = one;
    }
    return r;
}

static int verify_all(struct check *check, struct hf_limit limit)
{
    struct hf_lock  *lock = check->lock;
    struct hf_drive *drive = &lock->client->drive;

    assert(check->count > 0 && check->started == 0);
    if (hf_state(lock) != HF_HELD)
        return hf_lock_fail_not_held(lock);
    check->query = calloc(check->count, sizeof(struct hf_sync_query *));
    int r = check->query != NULL ? start_verifying(check, limit) : HF_ENOMEM;
    if (r == 0 && hf_drive_wait(drive, is_settled, check, limit.deadline) < 0)
        hf_drive_turn(drive, false); /* the engine keeps the same deadline */
    if (r == 0)
        r = hf_state(lock) == HF_HELD ? worst_result(check) : hf_lock_fail_not_held(lock);
    if (r == HF_ENOMEM || r == HF_ELOST)
        hf_lock_fail(lock, r);
    for (size_t i = 0; check->query != NULL && i < check->started; i++)
        hf_sync_query_end(check->query[i]);
    free(check->query);
    return r;
}

int hf_check(struct hf_lock *lock, int64_t timeout_ms)
{
    struct check check = { .lock = lock, .member = &lock, .count = 1 };
    int          cancel;

    int r = hf_client_begin(hf_lock_client(lock), &cancel);
    if (r < 0)
        return r;
    if (lock->ops->members != NULL)
        check.member = lock->ops->members(lock, &check.count);
    r = verify_all(&check, hf_client_limit(timeout_ms));
    hf_client_end(lock->client, cancel);
    return r;
}

int hf_verify(struct hf_client *client, const char *name, uint64_t token,
              int64_t timeout_ms)
{
    struct hf_req req = { .op = HF_VERIFY, .name = name, .token = token };
    int           cancel;

    int r = hf_sync_query_begin(client, name, false, &cancel);
    if (r < 0)
        return r;
    if (token == 0)
        r = hf_client_fail(client, HF_EINVAL, "0 is not a token");
    else
        r = hf_sync_query_run(client, &req, hf_client_limit(timeout_ms), NULL);
    if (r == HF_ELOST)
        hf_client_fail(client, r, "\"%s\" is not held by token %llu (any more)", name,
                       (unsigned long long)token);
    hf_client_end(client, cancel);
    return r;
}
