# src/store/memory/enter.c: who holds counts as waiting
s/queue->waiting >= req->limit/queue->waiting + (queue->held > 0) >= req->limit/
