# src/store/redis/wire/messages.c: a message that got lost is not made up for
# caught by: redis/messages
/^static void missed/,/^}/ s/hf_served_reread_all(&redis->served);/(void)redis;/
