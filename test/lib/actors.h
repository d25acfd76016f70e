/* actors.h - an actor is a client with one lock, and knows when that was last granted and
 * lost; a rival is an actor that tries to get the lock all the time.  For tests with a
 * server of their own. */
#ifndef HF_TEST_ACTORS_H
#define HF_TEST_ACTORS_H

#include "base/clock.h"
#include "holdfast.h"

#include <pthread.h>
#include <stdatomic.h>

#define ACTOR_LIMIT_MS 30000

/* In static memory: its client outlives a test that fails. */
struct actor {
    struct hf_client *client;
    struct hf_lock   *lock;
    _Atomic hf_time   held, lost; /* 0: never */
};

/* A mutex.  Any thread may use the lock. */
void actor_open_url(struct actor *actor, const char *url, const char *name);
void actor_close(struct actor *actor);

/* Acquire, which returns the token, and release; the test fails if that fails. */
uint64_t actor_take(struct actor *actor);
void     actor_give(struct actor *actor);

/* Wait for this state; the test fails if that takes long. */
void actor_await(const struct actor *actor, enum hf_state state);
void lock_await(const struct hf_lock *lock, enum hf_state state);

/* Does it hold the lock, by its own clock? */
bool actor_has(const struct actor *actor);

/* ---- Rivals ---------------------------------------------------------------------- */

struct rival {
    struct actor        self;
    const struct actor *others; /* must not hold it while the rival does */
    size_t              count;
    pthread_t           thread;
    atomic_bool         ending;
    atomic_uint         tries, wins, wrongs;
    _Atomic uint64_t    last;   /* token */
    _Atomic uint64_t    fallen; /* tokens that were not higher than the one before */
};

/* Try again and again in a thread; release at once. */
void rival_start_url(struct rival *rival, const char *url, const char *name,
                     const struct actor *others, size_t count);

/* End it; it must never have held the lock together with one of the others. */
void rival_stop(struct rival *rival);

#endif
