# src/store/redis/session/canary.c: nobody finds a canary, so lost data look like a new namespace
# caught by: redis/flush
/^hf_time hf_redis_canary_longest/,/^}/ s/== 1)/== 2)/
