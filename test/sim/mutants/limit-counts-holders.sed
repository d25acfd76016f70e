# src/store/memory/verbs.c: a holder counts as waiting
s/queue->waiting >= req->limit/queue->all.count >= req->limit/
