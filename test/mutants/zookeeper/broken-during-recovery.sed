# src/store/zookeeper/line/recover.c: a node that goes while it is being recovered counts as deleted by ourselves
# caught by: zookeeper/broken_release
/^static void on_found_node/,/^}/ s/reply->error == HF_ZK_NO_NODE ? HF_ZK_TAKEN : HF_ZK_NOWHERE/HF_ZK_NOWHERE/
