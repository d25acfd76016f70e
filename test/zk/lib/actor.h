/* actor.h - clients of ZooKeeper with one mutex: see test/lib/rivals.h. */
#ifndef HF_TEST_ZK_ACTOR_H
#define HF_TEST_ZK_ACTOR_H

#include "lib/rivals.h"

/* `address`: host:port, and what else is to stand in the URL. */
void actor_open_zk(struct actor *actor, const char *address, const char *name);

/* The path of its lock's folder; until the next call. */
const char *actor_folder(const struct actor *actor);

/* Begin to wait, and be seen in a line that has `nodes` then. */
void actor_queue_zk(struct actor *actor, size_t nodes);

#endif
