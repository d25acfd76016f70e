# src/store/zookeeper/watches/watched.c: a change before the watch was set is missed, and nobody notices
# caught by: zookeeper/misleading_events
/^void hf_zk_watched_settle/,/^}/ s/\.gap = as_of > watched->as_of/.gap = as_of < 0/
