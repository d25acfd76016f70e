/* fleet.h - many mutexes of one client, asked for and given back all at once. */
#ifndef HF_TEST_FLEET_H
#define HF_TEST_FLEET_H

#include "holdfast.h"

#include <stddef.h>

/* NAME-00, NAME-01 ... */
void fleet_make(struct hf_client *client, const char *name, struct hf_lock **ret,
                size_t count);
void fleet_free(struct hf_lock **lock, size_t count);

void fleet_want(struct hf_lock **lock, size_t count);
void fleet_give(struct hf_lock **lock, size_t count);
void fleet_await(struct hf_lock **lock, size_t count, enum hf_state state);

#endif
