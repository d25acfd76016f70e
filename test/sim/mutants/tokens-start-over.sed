# src/store/memory/verbs.c: an empty queue forgets its tokens
s/token = ++world->token;/token = queue->first == NULL ? 1 : ++world->token;/
