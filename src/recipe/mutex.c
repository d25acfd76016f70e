/* mutex.c - one holder at a time, first come first served. */
#include "client/lock.h"

int hf_mutex(struct hf_client *client, const char *name, struct hf_lock **ret)
{
    return hf_lock_new(client, name, &(struct hf_shape){ .weight = 1, .capacity = 1 },
                       ret);
}
