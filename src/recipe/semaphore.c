/* semaphore.c - holders whose weights add up to a capacity at most. */
#include "client/lock.h"

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
