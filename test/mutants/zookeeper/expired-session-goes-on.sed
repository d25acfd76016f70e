# src/store/zookeeper/wire/link.c: an expired session counts as a broken connection: its places are kept
# caught by: zookeeper/session
/^void hf_zk_link_lose/,/^}/ s/hf_remote_lose(&zk->remote);/hf_dial_break(\&zk->dial, why);/
