# src/store/zookeeper/wire/beat.c: the answer to a ping moves the deadline, as in the usual clients
# caught by: unit/store/zookeeper/wire/beat
/^void hf_zk_beat_pong/,/^}/ s/hf_zk_beat_heard(zk, sent, answered, false);/hf_zk_beat_heard(zk, sent, answered, true);/
