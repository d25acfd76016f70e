/* nested.h - a thread acquires a name that it already holds, by another handle.
 *
 * A second handle is a second place in line.  The thread could wait for itself, if only
 * because a writer waits between the two places.  If the thread holds the name as a
 * reader or writer and now wants to read, the new handle needs no place of its own: it
 * becomes an inner handle, which uses the place of the outer one.
 *
 * If the outer handle is released before its inner ones, its place is downgraded to a
 * reader and stays until the last inner handle is released.  That is how a writer
 * continues as a reader.  In all other cases where the thread would wait for itself,
 * the acquire fails.
 */
#ifndef HF_NESTED_H
#define HF_NESTED_H

#include "client/client.h"

struct hf_nested {
    struct hf_lock *outer; /* of an INNER handle, and of no other */
    unsigned        inner; /* how many inner handles a BOUND or OUTLIVED one has */
    uint64_t        token; /* OUTLIVED: of the place, for its inner handles */
};

/* All with the mutex held. */

/* A thread owns the handle from now on, or no longer: so hf_nested_acquire() finds the
 * locks of a thread without looking at every handle. */
void hf_nested_index(struct hf_lock *lock, bool owned);

/* 1: granted as an inner handle, or an outlived one is taken back; 0: neither, go to the
 * store; HF_EBUSY, HF_EDEADLOCK: the thread would wait for itself. */
int hf_nested_acquire(struct hf_lock *lock, bool once);

/* BOUND -> OUTLIVED: released, but its inner handles still use the place. */
void hf_nested_release_outer(struct hf_lock *outer);

/* INNER -> FREE.  Returns the outer handle if it is OUTLIVED and this was the last one
 * that used its place: then it is ENDING.  Else NULL. */
struct hf_lock *hf_nested_release_inner(struct hf_lock *inner);

/* The outer lock is no longer held: its inner ones are lost, INNER -> INNER_LOST. */
void hf_nested_lose_inner(struct hf_lock *outer);

/* After a turn: was the place of an OUTLIVED handle lost?  Then it is ENDING. */
bool hf_nested_outer_lost(struct hf_lock *outer);

#endif
