/* many_locks.h - many mutexes of one client, asked for and given back all at once. */
#ifndef HF_TEST_MANY_LOCKS_H
#define HF_TEST_MANY_LOCKS_H

#include "holdfast.h"

#include <stddef.h>

/* NAME-00, NAME-01 ... */
void locks_make(struct hf_client *client, const char *name, struct hf_lock **ret,
                size_t count);
void locks_free(struct hf_lock **lock, size_t count);

void locks_want(struct hf_lock **lock, size_t count);
void locks_give(struct hf_lock **lock, size_t count);
void locks_await(struct hf_lock **lock, size_t count, enum hf_state state);

#endif
