/* owner.h - which thread of this process owns a handle.
 *
 * A handle is one place in line, and threads can share it: one owns it at a time, the
 * others queue for it, first come first served.  Only then does the handle queue in the
 * store.
 *
 *     a thread acquires and holds it, or any thread may release it:
 *
 *         FREE --take--> TAKEN ---granted---> BOUND
 *                            \
 *                             +---granted---> LOOSE
 *                            /
 *         FREE --start--> STARTED       for no thread in particular
 *
 *     a thread that holds the name already acquires it by another handle (nested.h):
 *
 *         FREE, TAKEN --inside an outer one--> INNER --outer one lost--> INNER_LOST
 *
 *     the outer handle is released before its inner ones:
 *
 *         BOUND --release--> OUTLIVED ---acquired again---> BOUND
 *                               \
 *                                +---inner ones released, or place lost---> ENDING
 *
 *     it is released:
 *
 *         BOUND, LOOSE --nobody waits--> FREE
 *         BOUND, LOOSE --nobody waits--> ENDING     a set of locks
 *         BOUND, LOOSE, ENDING --a thread waits--> RELEASING
 *
 *     state       owner                                 becomes FREE
 *     FREE        nobody: the next thread may take it
 *     TAKEN       a thread that is acquiring it         when that fails
 *     STARTED     no thread: it is being acquired       when that fails
 *     BOUND       the thread that holds it              when released without waiting
 *     LOOSE       no thread: any may release it         when released without waiting
 *     INNER       a thread that holds an outer one      when released
 *     INNER_LOST  a thread whose outer lock was lost    when released
 *     OUTLIVED    released; inner ones use its place
 *     ENDING      no thread: it is being given up       when it has left
 *     RELEASING   the thread that is releasing it       by that thread, and no other
 *
 * Whether the lock is held or lost is a different matter: see published.h.
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
    HF_OWNER_INNER,
    HF_OWNER_INNER_LOST,
    HF_OWNER_OUTLIVED,
    HF_OWNER_ENDING,
    HF_OWNER_RELEASING,
};

/* A thread that waits until the handle is free. */
struct hf_queued {
    struct hf_lock   *lock;
    unsigned          cancels; /* owner.cancels when it began to wait */
    struct hf_queued *next;
};

struct hf_owner {
    enum hf_owner_state state;
    uint64_t            thread; /* of TAKEN, BOUND, INNER*, OUTLIVED, RELEASING */
    unsigned            count;  /* how often it acquired it: BOUND, INNER, INNER_LOST */
    bool                any_thread; /* becomes LOOSE instead of BOUND when granted */
    unsigned            cancels;    /* calls of hf_cancel() */
    struct hf_queued   *queue;      /* on the stacks of the threads that wait */
};

/* All that follow: with the mutex held. */

/* Every change of state goes through here.  If there was no owner, the calling thread
 * becomes the owner, and counts from 1. */
void hf_owner_move(struct hf_lock *lock, enum hf_owner_state to);

/* Does the calling thread own it?  Then it may acquire it again. */
bool hf_owner_is_me(const struct hf_owner *owner);

/* Does another thread own it?  Then this one may not release it. */
bool hf_owner_is_other(const struct hf_owner *owner);

/* Did this thread release it before its inner handles? */
bool hf_owner_is_outlived(const struct hf_owner *owner);

/* Does the state of the handle's own place in the store decide what its owner has? */
bool hf_owner_has_place(const struct hf_owner *owner);

/* Can it be taken at once? */
bool hf_lock_is_free(const struct hf_lock *lock);

/* Wait until nobody owns it and all earlier threads are served, then take it; or take
 * it for no thread in particular, without waiting. */
int hf_lock_take(struct hf_lock *lock, bool once, hf_time deadline);
int hf_lock_take_for_nobody(struct hf_lock *lock);

/* It was TAKEN and is granted now; its owner acquires it once more; it becomes FREE. */
void hf_lock_granted(struct hf_lock *lock);
int  hf_lock_acquire_again(struct hf_lock *lock);
void hf_lock_give_back(struct hf_lock *lock);

#endif
