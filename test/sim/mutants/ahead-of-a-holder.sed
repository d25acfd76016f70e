# src/store/memory/queue.c: only waiters count as ahead of a place, not holders
s/place->ahead = ahead.count;/place->ahead = queue->waiting;/
