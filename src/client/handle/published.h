/* published.h - the state of a lock that the user sees.
 *
 * During a turn the engine moves a lock's hold, and only the thread that turns may look
 * at it.  After each turn the result is published here, for hf_state() and the like:
 *
 *     IDLE --want--> WAITING --granted--> HELD --lost--> LOST
 *      ^                |                  |              |
 *      |                +-------drop-------+-----drop-----+
 *      |                                   |
 *      +---------------left------------ LEAVING
 *
 *     also           because
 *     IDLE HELD      an inner handle: its thread holds the name already (nested.h)
 *     IDLE LEAVING   an outlived handle: its place was lost or is not used any more
 *     WAITING IDLE   refused, or no place was taken yet
 *     WAITING LOST   granted and lost within one turn
 *     HELD IDLE      an inner handle, or one that is outlived from now on
 *     LOST IDLE      an inner handle
 */
#ifndef HF_PUBLISHED_H
#define HF_PUBLISHED_H

#include "client/client.h"

struct hf_published {
    atomic_int       state; /* enum hf_state */
    atomic_int       why;
    atomic_int       slot;
    _Atomic uint64_t token;
    _Atomic int64_t  ahead;

    /* With the mutex. */
    uint64_t place;                 /* the id of the place */
    bool     downgraded;            /* held, but only as a reader */
    bool     denied;                /* LEAVING, and the store does not permit it */
    int      lost_fd;               /* -1: not wanted yet */
    char     errmsg[HF_ERRMSG_MAX]; /* the store's last message */
};

void hf_published_init(struct hf_published *published);
void hf_published_finish(struct hf_published *published);

/* With the mutex held. */

/* Every change of state goes through here; queues callbacks and updates whatever
 * depends on the state.  Sets token and slot to those of its own place: a caller that
 * publishes HELD for an inner handle sets the token afterwards. */
void hf_lock_set_state(struct hf_lock *lock, enum hf_state state, int why);

/* After a turn: publish what became of the lock.  May free it. */
void hf_lock_publish(struct hf_lock *lock);

/* The deadline has moved: set the timer of hf_lost_fd(). */
void hf_lock_set_alarm(struct hf_lock *lock);

#endif
