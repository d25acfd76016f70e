/* owner.h - whose a handle is, among the threads of this process.
 *
 * A handle is one place in line, and threads share it: one has it at a time, the others
 * queue for it, first come first served.  Only then does the handle queue in the store.
 *
 *     a thread acquires and holds it, or it is for any thread to release:
 *
 *         FREE --take--> TAKEN ---granted---> BOUND
 *                            \
 *                             +---granted---> LOOSE
 *                            /
 *         FREE --start--> STARTED       for no thread in particular
 *
 *     a thread that holds the name already comes with another handle (shelter.h):
 *
 *         FREE, TAKEN --under a host--> GUEST --host lost--> FALLEN
 *
 *     the host is released before its guests:
 *
 *         BOUND --lend--> LENT ---comes again---> BOUND
 *                            \
 *                             +---guests gone, or place lost---> ENDING
 *
 *     it is given back:
 *
 *         BOUND, LOOSE --nobody waits--> FREE
 *         BOUND, LOOSE --nobody waits--> ENDING     of several as one
 *         BOUND, LOOSE, ENDING --a thread waits--> RELEASING
 *
 *     state      whose it is                         becomes FREE
 *     FREE       nobody's: the next may take it
 *     TAKEN      a thread's, which acquires it       when that comes to nothing
 *     STARTED    no thread's: it is acquired         when that comes to nothing
 *     BOUND      a thread's, which holds it          released without waiting
 *     LOOSE      no thread's: any may release it     released without waiting
 *     GUEST      a thread's, in the place of a host  released
 *     FALLEN     a thread's: its host was lost       released
 *     LENT       released; its guests have its place
 *     ENDING     no thread's: it is being given up   when it has left
 *     RELEASING  a thread's, which gives it up       by that thread, and no other
 *
 * Whether it is still held, or lost, is another matter: see shown.h.
 */
#ifndef HF_OWNER_H
#define HF_OWNER_H

#include "client/client.h"

enum hf_owner_state {
    HF_OWNER_FREE,
    HF_OWNER_TAKEN,
    HF_OWNER_STARTED,
    HF_OWNER_BOUND,
    HF_OWNER_LOOSE,
    HF_OWNER_GUEST,
    HF_OWNER_FALLEN,
    HF_OWNER_LENT,
    HF_OWNER_ENDING,
    HF_OWNER_RELEASING,
};

/* A thread that waits until the handle is free. */
struct hf_queued {
    struct hf_lock   *lock;
    unsigned          cancels; /* as they were when it came */
    struct hf_queued *next;
};

struct hf_owner {
    enum hf_owner_state state;
    uint64_t            thread; /* of TAKEN, BOUND, GUEST, FALLEN, LENT, RELEASING */
    unsigned            count;  /* how often that thread has it: BOUND, GUEST, FALLEN */
    bool                any_thread; /* LOOSE, not BOUND, when granted */
    unsigned            cancels;    /* calls of hf_cancel() */
    struct hf_queued   *queue;      /* on the stacks of those who wait */
};

/* All that follow: with the mutex held. */

/* The one way to another state.  The calling thread becomes the owner where there was
 * none, and counts from 1. */
void hf_owner_move(struct hf_lock *lock, enum hf_owner_state to);

/* Does the calling thread have it?  Then it may come again. */
bool hf_owner_is_me(const struct hf_owner *owner);

/* Does another thread have it?  Then this one may not release it. */
bool hf_owner_is_other(const struct hf_owner *owner);

/* Has this thread lent it to guests of its own? */
bool hf_owner_lends(const struct hf_owner *owner);

/* Is what the store says of the handle's own place what its owner has? */
bool hf_owner_has_place(const struct hf_owner *owner);

/* May it be taken at once? */
bool hf_lock_is_free(const struct hf_lock *lock);

/* Wait until nobody has it and nobody came before, and take it; or take it for no thread
 * in particular. */
int hf_lock_take(struct hf_lock *lock, bool once, hf_time deadline);
int hf_lock_take_for_nobody(struct hf_lock *lock);

/* What was taken is granted; is had once more by the thread that has it; is free. */
void hf_lock_granted(struct hf_lock *lock);
int  hf_lock_acquire_again(struct hf_lock *lock);
void hf_lock_give_back(struct hf_lock *lock);

#endif
