# src/store/zookeeper/inspect/scan.c: the token of a downgraded place is only in data that others overwrite
# caught by: zookeeper/verify
/^static void take_child/,/^}/ s/entry->token = hf_zk_child_token(.*/entry->token = 0;/
