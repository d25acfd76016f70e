# src/store/memory/enter.c: an empty line forgets its tokens
s/uint64_t token = ++world->token;/uint64_t token = queue->first == NULL ? 1 : ++world->token;/
