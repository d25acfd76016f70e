# src/store/zookeeper/line/own.c: a client that lost a claim deletes that of the next holder
# caught by: zookeeper/claim
/^static void on_companion_read/,/^}/ s/if (hf_zk_is_uuid_read(reply, cleaning->uuid))/if (reply->error == 0)/
