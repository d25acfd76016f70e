/* claim.c - one holder at a time, no queue: when it is free, the first to come gets it. */
#include "client/lock.h"

int hf_claim(struct hf_client *client, const char *name, struct hf_lock **ret)
{
    struct hf_shape shape = { .weight = 1, .capacity = 1, .claim = true };

    return hf_lock_new(client, name, &shape, ret);
}
