/* actor.h - a client with one mutex, and when that was last held and lost. */
#ifndef HF_TEST_ZK_ACTOR_H
#define HF_TEST_ZK_ACTOR_H

#include "base/clock.h"
#include "holdfast.h"

#include <stdatomic.h>

#define ACTOR_LIMIT_MS 30000

struct actor {
    struct hf_client *client;
    struct hf_lock   *lock;
    _Atomic hf_time   held, lost; /* 0: never */
    char              folder[64];
};

/* `address`: host:port, and what else is to stand in the URL.  Any thread may use the
 * lock. */
void actor_open(struct actor *actor, const char *address, const char *name);
void actor_close(struct actor *actor);

/* Acquire and release; the test fails if that fails. */
void actor_take(struct actor *actor);
void actor_give(struct actor *actor);

/* Begin to wait, and be seen in a line that has `nodes` then. */
void actor_queue(struct actor *actor, size_t nodes);

/* Until it is in this state; the test fails if that takes long. */
void actor_await(const struct actor *actor, enum hf_state state);
void lock_await(const struct hf_lock *lock, enum hf_state state);

#endif
