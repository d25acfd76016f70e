# src/store/memory/verbs.c: one more may wait than the limit says
s/queue->waiting >= req->limit/queue->waiting > req->limit/
