# src/store/zookeeper/line/slot.c: a slot is taken for a place that somebody has broken
# caught by: zookeeper/companions
/^static void try_slot/,/^}/ s/hf_zk_multi_check(zk, own->path);/hf_zk_multi_check(zk, hf_zk_root(zk));/
