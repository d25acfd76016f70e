# src/store/memory/queue.c: only those ahead that wait are counted
s/place->ahead = ahead.count;/place->ahead = queue->waiting;/
