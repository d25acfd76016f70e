/* rivals.h - clients with one lock, that know when it was last held and lost; and a rival
 * that asks for the same one all the time.  For tests with a server of their own. */
#ifndef HF_TEST_RIVALS_H
#define HF_TEST_RIVALS_H

#include "base/clock.h"
#include "holdfast.h"

#include <pthread.h>
#include <stdatomic.h>

#define ACTOR_LIMIT_MS 30000

/* In static memory: when a test fails, its clients live on. */
struct actor {
    struct hf_client *client;
    struct hf_lock   *lock;
    _Atomic hf_time   held, lost; /* 0: never */
};

/* A mutex.  Any thread may use the lock. */
void actor_open_url(struct actor *actor, const char *url, const char *name);
void actor_close(struct actor *actor);

/* Acquire and release; the test fails if that fails.  The token. */
uint64_t actor_take(struct actor *actor);
void     actor_give(struct actor *actor);

/* Until it is in this state; the test fails if that takes long. */
void actor_await(const struct actor *actor, enum hf_state state);
void lock_await(const struct hf_lock *lock, enum hf_state state);

/* Is it surely its own, by its own clock? */
bool actor_has(const struct actor *actor);

/* ---- Rivals ---------------------------------------------------------------------- */

struct rival {
    struct actor        self;
    const struct actor *others; /* who must not have it when the rival does */
    size_t              count;
    pthread_t           thread;
    atomic_bool         ending;
    atomic_uint         tries, wins, wrongs;
    _Atomic uint64_t    last;   /* token */
    _Atomic uint64_t    fallen; /* tokens that were not higher than those before */
};

/* Try again and again in a thread; let go at once when it succeeds. */
void rival_start_url(struct rival *rival, const char *url, const char *name,
                     const struct actor *others, size_t count);

/* End it; it must never have had the lock beside one of the others. */
void rival_stop(struct rival *rival);

#endif
