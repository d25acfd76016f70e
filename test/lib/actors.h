/* actors.h - an actor is a client with one lock, and knows when that was last granted and
 * lost; a rival is an actor that tries to get the lock all the time.  For tests with a
 * server of their own.
 *
 * In tests that ask for it, actors write histories.  If some were watched, the checker of
 * test/chaos judges all when the last has closed.  The functions below know of a turn; those of
 * the library do not.
 */
#ifndef HF_TEST_ACTORS_H
#define HF_TEST_ACTORS_H

#include "base/clock.h"
#include "lib/turns.h"

#include <pthread.h>
#include <stdatomic.h>

#define ACTOR_LIMIT_MS 30000

/* In static memory: its client outlives a test that fails. */
struct actor {
    struct hf_client *client;
    struct hf_lock   *lock;
    _Atomic hf_time   held, lost; /* 0: never */

    /* Of the present turn; guarded by a mutex of all actors. */
    struct turns history;
    uint64_t     token;  /* 0: it has none that we know of */
    bool         wanted; /* and not released */
};

/* Actors that are opened from now on write histories, until all have closed.  Rivals need
 * that. */
void actors_write(void);

/* A mutex.  Any thread may use the lock. */
void actor_open_url(struct actor *actor, const char *url, const char *name);
void actor_close(struct actor *actor);

/* As hf_acquire(), hf_acquire_start() and hf_release(). */
int  actor_acquire(struct actor *actor, int64_t limit_ms);
void actor_start(struct actor *actor); /* the test fails if that fails */
int  actor_release(struct actor *actor);

/* Acquire, which returns the token, and release; the test fails if that fails. */
uint64_t actor_take(struct actor *actor);
void     actor_give(struct actor *actor);

/* Wait for this state; the test fails if that takes long. */
void actor_await(struct actor *actor, enum hf_state state);
void lock_await(const struct hf_lock *lock, enum hf_state state);

/* Does it hold the lock, by its own clock?  The history knows of what is seen so. */
bool actor_has(struct actor *actor);

/* Look at these, once or for a while: so the checker learns when each holds the lock. */
void actors_watch(struct actor *actors, size_t count, int ms);

/* ---- Rivals ---------------------------------------------------------------------- */

struct rival {
    struct actor     self;
    struct actor    *others; /* whose turns it looks at meanwhile */
    size_t           count;
    pthread_t        thread;
    atomic_bool      ending;
    atomic_uint      tries;
    _Atomic uint64_t last; /* token */
};

/* Try again and again in a thread; release at once. */
void rival_start_url(struct rival *rival, const char *url, const char *name,
                     struct actor *others, size_t count);

void rival_stop(struct rival *rival);

#endif
