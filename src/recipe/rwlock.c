/* rwlock.c - many readers or one writer, first come first served. */
#include "client/lock.h"

int hf_reader(struct hf_client *client, const char *name, struct hf_lock **ret)
{
    return hf_lock_new(client, name, &(struct hf_shape){ .weight = 1, .capacity = HF_ALL },
                       ret);
}

int hf_writer(struct hf_client *client, const char *name, struct hf_lock **ret)
{
    return hf_lock_new(client, name,
                       &(struct hf_shape){ .weight = HF_ALL, .capacity = HF_ALL }, ret);
}
