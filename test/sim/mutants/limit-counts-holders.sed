# src/store/memory/verbs.c: who holds counts as waiting
s/queue->waiting >= req->limit/queue->all.count >= req->limit/
