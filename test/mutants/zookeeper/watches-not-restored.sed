# src/store/zookeeper/wire/link.c: watches are not set again on a new connection
# caught by: zookeeper/session
/^static void be_ready/,/^}/ s/hf_zk_watched_restore(zk);/(void)zk;/
