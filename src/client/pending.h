/* pending.h - operations on a lock that wait for the next turn of the engine.
 *
 * A caller may not touch the engine while another thread turns it.  So it posts an
 * operation under the mutex, and the thread that turns the engine collects all of them
 * before the turn.  A lock can have several pending operations; they are carried out in
 * the order of enum hf_posted.
 */
#ifndef HF_PENDING_H
#define HF_PENDING_H

#include "client/client.h"

enum hf_posted {
    HF_POSTED_WANT = 1,
    HF_POSTED_DOWNGRADE = 2,
    HF_POSTED_DROP = 4,
    HF_POSTED_FREE = 8, /* only publish it; lock->freeing does the rest */
};

struct hf_pending {
    unsigned        posted;   /* of enum hf_posted; 0: nothing is pending */
    bool            once;     /* WANT */
    hf_time         deadline; /* WANT */
    uint64_t        group;    /* WANT: entered together with others; see struct hf_req */
    struct hf_shape lesser;   /* DOWNGRADE */
    int             why;      /* DROP */
    struct hf_lock *next;     /* the next lock with pending operations */
};

/* All with the mutex held. */

/* Is there an operation that the running turn has not collected? */
bool hf_lock_is_posted(const struct hf_lock *lock);

/* The published state changes at once; the engine follows in its next turn. */
void hf_lock_post_want(struct hf_lock *lock, bool once, hf_time deadline);
void hf_lock_post_drop(struct hf_lock *lock, int why);
void hf_lock_post_downgrade(struct hf_lock *lock, const struct hf_shape *shape);
void hf_lock_post_free(struct hf_lock *lock);

/* Hand all pending operations to the engine.  Each lock is published after the turn. */
void hf_pending_collect(struct hf_client *client);

#endif
