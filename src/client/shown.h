/* shown.h - what a lock shows of itself, and the way news takes to it.
 *
 * The engine moves a lock's hold while nobody else may look.  After each turn what came
 * of it is published here, for hf_state() and its like to read:
 *
 *     IDLE --want--> WAITING --granted--> HELD --lost--> LOST
 *      ^                |                  |              |
 *      |                +-------drop-------+-----drop-----+
 *      |                                   |
 *      +---------------left------------ LEAVING
 *
 *     also           because
 *     IDLE HELD      its thread holds the name already: it needs no place (shelter.h)
 *     IDLE LEAVING   the place that it lent is given up: its last guest left, or it was lost
 *     WAITING IDLE   refused, or no place was taken yet
 *     WAITING LOST   granted and lost within one turn
 *     HELD IDLE      it had no place of its own, or has lent it
 *     LOST IDLE      the same
 */
#ifndef HF_SHOWN_H
#define HF_SHOWN_H

#include "client/client.h"

struct hf_shown {
    atomic_int       state; /* enum hf_state */
    atomic_int       why;
    atomic_int       slot;
    _Atomic uint64_t token;
    _Atomic int64_t  ahead;

    /* With the mutex. */
    uint64_t place;                 /* the id of what is held */
    bool     lessened;              /* held, but as a reader only */
    int      lost_fd;               /* -1: nobody wants it */
    char     errmsg[HF_ERRMSG_MAX]; /* what the store said last */
};

void hf_shown_init(struct hf_shown *shown);
void hf_shown_finish(struct hf_shown *shown);

/* With the mutex held. */

/* The one way to another state; tells all who hang on it.  Token and slot are those of
 * its own place: who shows HELD in another's place sets them afterwards. */
void hf_lock_show(struct hf_lock *lock, enum hf_state state, int why);

/* After a turn: show how the lock fares.  May free it. */
void hf_lock_publish(struct hf_lock *lock);

/* The deadline has moved. */
void hf_lock_set_alarm(struct hf_lock *lock);

#endif
