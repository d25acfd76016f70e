# src/store/zookeeper/wire/link.c: servers restored from a backup are used as if nothing had happened
# caught by: zookeeper/restored_backup.py
/^static void on_proof/,/^}/ s/if (reply->zxid < zk->link.zxid)/if (reply->zxid < 0)/
