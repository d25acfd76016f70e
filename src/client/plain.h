/* plain.h - how a lock that is not made of others is taken and given back. */
#ifndef HF_PLAIN_H
#define HF_PLAIN_H

#include "client/lock.h"

/* See struct hf_lock_ops. */
int hf_plain_acquire(struct hf_lock *lock, int64_t timeout_ms);
int hf_plain_acquire_start(struct hf_lock *lock, int64_t timeout_ms);
int hf_plain_release(struct hf_lock *lock);
int hf_plain_release_start(struct hf_lock *lock);
int hf_plain_cancel(struct hf_lock *lock);

#endif
