# src/store/zookeeper/watches/watched.c: an event that comes before the answer to SET_WATCHES is ignored
# caught by: zookeeper/watches
/^void hf_zk_watched_event/,/^}/ s/else if (watched->state == HF_ZK_WATCH_SENT \&\& watched->early != HF_ZK_NEWS_GONE)/else if (false)/
