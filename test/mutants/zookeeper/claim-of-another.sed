# src/store/zookeeper/line/companion.c: a client that lost a claim deletes that of the next holder
# caught by: zookeeper/claim
/^static void on_orphan_read/,/^}/ s/if (hf_zk_is_uuid_read(reply, orphan->uuid))/if (reply->error == 0)/
