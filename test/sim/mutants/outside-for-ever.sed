# src/store/memory/verbs.c: a client that waits outside is not notified when the place in its way leaves
s/hf_queue_find(queue, req->token) == NULL/hf_queue_find(queue, req->token) == NULL \&\& queue->first != NULL/
