/* kinds.c - mutex, claim, semaphore, reader and writer: each picks a shape; core/line.h
 * has the rule. */
#include "client/handle/lock.h"

int hf_mutex(struct hf_client *client, const char *name, struct hf_lock **ret)
{
    return hf_lock_new(client, name, &(struct hf_shape){ .weight = 1, .capacity = 1 },
                       ret);
}

int hf_claim(struct hf_client *client, const char *name, struct hf_lock **ret)
{
    struct hf_shape shape = { .weight = 1, .capacity = 1, .claim = true };

    return hf_lock_new(client, name, &shape, ret);
}

int hf_semaphore(struct hf_client *client, const char *name, uint32_t capacity,
                 uint32_t weight, struct hf_lock **ret)
{
    struct hf_shape shape = { .weight = weight, .capacity = capacity };

    if (capacity >= 1 && capacity < HF_ALL && weight >= 1 && weight <= capacity)
        return hf_lock_new(client, name, &shape, ret);

    int cancel;
    int r = hf_client_begin(client, &cancel);
    if (r < 0)
        return r;
    r = hf_client_fail(client, HF_EINVAL,
                       "a semaphore of %lu with weight %lu: the capacity must be 1 to "
                       "4294967294 and the weight 1 to the capacity",
                       (unsigned long)capacity, (unsigned long)weight);
    hf_client_end(client, cancel);
    return r;
}

int hf_reader(struct hf_client *client, const char *name, struct hf_lock **ret)
{
    return hf_lock_new(client, name,
                       &(struct hf_shape){ .weight = 1, .capacity = HF_ALL }, ret);
}

int hf_writer(struct hf_client *client, const char *name, struct hf_lock **ret)
{
    return hf_lock_new(client, name,
                       &(struct hf_shape){ .weight = HF_ALL, .capacity = HF_ALL }, ret);
}

static bool is_lessened(void *arg)
{
    const struct hf_lock *lock = arg;

    return lock->published.downgraded || hf_state(lock) != HF_HELD;
}

static int downgrade(struct hf_lock *lock)
{
    const struct hf_shape reader = { .weight = 1, .capacity = HF_ALL };
    struct hf_client     *client = lock->client;

    if (lock->job.hold.shape.weight != HF_ALL)
        return hf_client_fail(client, HF_EINVAL, "\"%s\" is not a writer", lock->name);
    if (hf_state(lock) != HF_HELD)
        return hf_lock_fail_not_held(lock);
    if (hf_owner_is_other(&lock->owner))
        return hf_lock_fail(lock, HF_EOWNER);
    if (lock->published.downgraded)
        return 0;
    hf_lock_post_downgrade(lock, &reader);
    int r = hf_drive_wait(&client->drive, is_lessened, lock,
                          atomic_load(&client->alive_until));
    if (r < 0 || hf_state(lock) != HF_HELD)
        return hf_lock_fail(lock, HF_ELOST);
    return 0;
}

int hf_downgrade(struct hf_lock *writer)
{
    int cancel;

    int r = hf_client_begin(hf_lock_client(writer), &cancel);
    if (r < 0)
        return r;
    r = downgrade(writer);
    hf_client_end(writer->client, cancel);
    return r;
}
