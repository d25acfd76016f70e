/* redis.h - lines on a Redis or Valkey server: redis:, rediss:, redis+unix:,
 * redis+sentinel:.  See docs/redis.md for what it needs and promises. */
#ifndef HF_REDIS_H
#define HF_REDIS_H

#include "store/store.h"

extern const struct hf_store_impl hf_redis_store, hf_rediss_store, hf_redis_unix_store,
    hf_redis_sentinel_store;

#endif
