/* inbox.h - what callers leave for the engine, until whoever turns it collects it.
 *
 * A lock has one letter in the client's inbox, with all that is to be done about it.  The
 * order is always the same: what is dropped has been wanted before.
 */
#ifndef HF_INBOX_H
#define HF_INBOX_H

#include "client/client.h"

enum hf_posted {
    HF_POSTED_WANT = 1,
    HF_POSTED_LESSEN = 2,
    HF_POSTED_DROP = 4,
    HF_POSTED_FREE = 8, /* only publish it: see `freeing` */
};

struct hf_letter {
    unsigned        posted;   /* of enum hf_posted; 0: it is not in the inbox */
    bool            once;     /* WANT */
    hf_time         deadline; /* WANT */
    uint64_t        group;    /* WANT: together with others; see struct hf_req */
    struct hf_shape lesser;   /* LESSEN */
    int             why;      /* DROP */
    struct hf_lock *next;     /* whose letter comes next */
};

/* All with the mutex held. */

/* Is there news that the turn under way does not know of? */
bool hf_lock_is_posted(const struct hf_lock *lock);

/* What is shown of the lock changes at once; the engine hears of it later. */
void hf_lock_post_want(struct hf_lock *lock, bool once, hf_time deadline);
void hf_lock_post_drop(struct hf_lock *lock, int why);
void hf_lock_post_lessen(struct hf_lock *lock, const struct hf_shape *shape);
void hf_lock_post_free(struct hf_lock *lock);

/* Hand all letters to the engine.  Each lock is published after the turn. */
void hf_inbox_collect(struct hf_client *client);

#endif
