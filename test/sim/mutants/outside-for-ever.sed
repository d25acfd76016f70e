# src/store/memory/verbs.c: whoever waits outside is not told that the place in the way has left
s/hf_queue_find(queue, req->token) == NULL/hf_queue_find(queue, req->token) == NULL \&\& queue->first != NULL/
