# src/store/zookeeper/line/own.c: the token is the sequence number, which starts over with a new folder
# caught by: zookeeper/sequence_numbers
s/own->token = (uint64_t)stat->czxid;/own->token = (uint64_t)child.number + 1;/
