# src/store/redis/replicas.c: a grant counts as safe however few replicas have it
# caught by: redis/failover
/^static void on_waited/,/^}/ s/reply->integer < redis->config.replicas/reply->integer < 0/
