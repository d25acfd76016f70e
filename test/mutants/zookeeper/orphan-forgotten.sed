# src/store/zookeeper/line/companion.c: a slot or claim stays if the connection breaks before it is deleted
# caught by: zookeeper/companions
/^void hf_zk_orphans_resume/,/^}/ s/read_orphan(zk, orphan);/(void)zk;/
