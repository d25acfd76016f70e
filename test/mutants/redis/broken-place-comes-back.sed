# src/store/redis/session/session.c: a message that a place was broken is dropped with the connection, and the place is reclaimed
# caught by: redis/flush
/hf_redis_messages_drain/d
