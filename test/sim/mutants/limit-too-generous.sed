# src/store/memory/verbs.c: one more may wait than the limit allows
s/queue->waiting >= req->limit/queue->waiting > req->limit/
