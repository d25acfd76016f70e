# src/store/redis/session/session.c: the lease is counted from the answer, not from the sending
# caught by: fault/slow_answers on redis
/^void hf_redis_session_renewed/,/^}/ s/redis->session.renewed = redis->session.sent;/redis->session.renewed = redis->remote.now;/
