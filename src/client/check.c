/* check.c - hf_check() and hf_verify(): is it still held?
 *
 * Each part of what is held asks for itself, all at once.  If the store answers no,
 * the hold is told (see query.c), so that the lock is lost as in any other way
 * before anybody sees the answer.
 */
#include "client/lock.h"
#include "client/query.h"

#include <assert.h>
#include <stdlib.h>

struct proof {
    struct hf_lock        *lock;
    struct hf_lock *const *part;
    size_t                 count;
    struct hf_query      **query; /* of each part */
    size_t                 started;
};

static bool is_settled(void *arg)
{
    const struct proof *proof = arg;

    if (hf_state(proof->lock) != HF_HELD) /* time ran out meanwhile */
        return true;
    for (size_t i = 0; i < proof->started; i++)
        if (!proof->query[i]->done)
            return false;
    return true;
}

static int start_proofs(struct proof *proof, struct hf_limit limit)
{
    int r = 0;

    for (; r == 0 && proof->started < proof->count; proof->started += r == 0) {
        const struct hf_lock *part = proof->part[proof->started];
        /* A reader under another lock has the place of that one. */
        const struct hf_lock *host =
            part->shelter.host != NULL ? part->shelter.host : part;
        struct hf_req req = { .op = HF_PROVE,
                              .name = part->name,
                              .id = host->shown.place };
        r = hf_query_start(part->client, &req, limit, &proof->query[proof->started]);
    }
    return r;
}

/* That it is lost is worth more than that something else is not known. */
static int worst_result(const struct proof *proof)
{
    int r = 0;

    for (size_t i = 0; i < proof->started && r != HF_ELOST; i++) {
        assert(proof->query[i] != NULL);
        int one = hf_query_result(proof->query[i]);
        if (one == HF_ELOST || r == 0)
            r = one;
    }
    return r;
}

static int prove_all(struct proof *proof, struct hf_limit limit)
{
    struct hf_lock  *lock = proof->lock;
    struct hf_drive *drive = &lock->client->drive;

    assert(proof->count > 0 && proof->started == 0);
    if (hf_state(lock) != HF_HELD)
        return hf_lock_fail_not_held(lock);
    proof->query = calloc(proof->count, sizeof(struct hf_query *));
    int r = proof->query != NULL ? start_proofs(proof, limit) : HF_ENOMEM;
    if (r == 0 && hf_drive_wait(drive, is_settled, proof, limit.deadline) < 0)
        hf_drive_turn(drive, false); /* the engine keeps the same deadline */
    if (r == 0)
        r = hf_state(lock) == HF_HELD ? worst_result(proof) : hf_lock_fail_not_held(lock);
    if (r == HF_ENOMEM || r == HF_ELOST)
        hf_lock_fail(lock, r);
    for (size_t i = 0; proof->query != NULL && i < proof->started; i++)
        hf_query_end(proof->query[i]);
    free(proof->query);
    return r;
}

int hf_check(struct hf_lock *lock, int64_t timeout_ms)
{
    struct proof proof = { .lock = lock, .part = &lock, .count = 1 };
    int          cancel;

    int r = hf_client_begin(hf_lock_client(lock), &cancel);
    if (r < 0)
        return r;
    if (lock->ops->parts != NULL)
        proof.part = lock->ops->parts(lock, &proof.count);
    r = prove_all(&proof, hf_client_limit(timeout_ms));
    hf_client_end(lock->client, cancel);
    return r;
}

int hf_verify(struct hf_client *client, const char *name, uint64_t token,
              int64_t timeout_ms)
{
    struct hf_req req = { .op = HF_PROVE, .name = name, .token = token };
    int           cancel;

    int r = hf_query_begin(client, name, false, &cancel);
    if (r < 0)
        return r;
    if (token == 0)
        r = hf_client_fail(client, HF_EINVAL, "0 is no token");
    else
        r = hf_query_run(client, &req, hf_client_limit(timeout_ms), NULL);
    if (r == HF_ELOST)
        hf_client_fail(client, r, "\"%s\" is not held by token %llu (any more)", name,
                       (unsigned long long)token);
    hf_client_end(client, cancel);
    return r;
}
