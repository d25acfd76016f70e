# src/store/zookeeper/wire/call.c: the lease is counted from the answer, not from the sending
# caught by: zookeeper/slow_server
s/hf_zk_beat_heard(zk, call->sent,/hf_zk_beat_heard(zk, answered,/
