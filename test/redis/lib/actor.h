/* actor.h - clients with one lock, and rivals, on the server under test: see test/lib/rivals.h. */
#ifndef HF_TEST_REDIS_ACTOR_H
#define HF_TEST_REDIS_ACTOR_H

#include "lib/rivals.h"

/* `address`: host:port; `ttl_ms`: of the session. */
void actor_open(struct actor *actor, const char *address, int ttl_ms, const char *name);

/* Begin to wait, and be seen in a line in which `waiters` wait then. */
void actor_queue(struct actor *actor, size_t waiters);

void rival_start(struct rival *rival, const char *address, int ttl_ms, const char *name,
                 const struct actor *others, size_t count);

#endif
