/* rwlock.c - many readers or one writer, first come first served. */
#include "client/lock.h"

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

static bool lessened(void *arg)
{
    const struct hf_lock *lock = arg;

    return lock->lessened || lock->state != HF_HELD;
}

static int downgrade(struct hf_lock *lock)
{
    const struct hf_shape reader = { .weight = 1, .capacity = HF_ALL };
    struct hf_client     *client = lock->client;

    if (lock->job.hold.shape.weight != HF_ALL)
        return hf_client_fail(client, HF_EINVAL, "\"%s\" is no writer", lock->name);
    if (lock->state != HF_HELD)
        return lock->state == HF_LOST
                   ? hf_lock_fail(lock, HF_ELOST)
                   : hf_client_fail(client, HF_ESTATE, "\"%s\" is not held", lock->name);
    if (lock->bound && !hf_lock_is_mine(lock))
        return hf_lock_fail(lock, HF_EOWNER);
    if (lock->lessened)
        return 0;
    hf_lock_post_lessen(lock, &reader);
    int r =
        hf_drive_wait(&client->drive, lessened, lock, atomic_load(&client->alive_until));
    if (r < 0 || lock->state != HF_HELD)
        return hf_lock_fail(lock, HF_ELOST);
    return 0;
}

int hf_downgrade(struct hf_lock *writer)
{
    int r = hf_client_check(writer->client);
    if (r < 0)
        return r;
    int cancel = hf_drive_begin(&writer->client->drive);
    r = downgrade(writer);
    hf_drive_end(&writer->client->drive, cancel);
    return r;
}
