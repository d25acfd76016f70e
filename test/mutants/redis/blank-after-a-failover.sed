# src/store/redis/session/hello.c: a server without data counts as new, though another was the master since
# caught by: redis/sentinel_back
s/^ *redis->link.master.config_epoch > 0)/        false)/
