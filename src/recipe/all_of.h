/* all_of.h - several locks as one, between the files that make it.
 *
 * all_of.c makes it and blocks, all_of_start.c does without blocking, all_of_take.c
 * says for both what comes next:
 *
 *     RESTING --begin--> TAKING --last one held--> RESTING (held)
 *                         ^  |
 *              all idle   |  | one failed, out of time, canceled
 *     one was lost before |  v
 *     the last one came   GIVING --last one idle--> RESTING (idle)
 *                           ^
 *     RESTING (held) -------+ release
 */
#ifndef HF_ALL_OF_H
#define HF_ALL_OF_H

#include "client/lock.h"

enum hf_bundle_phase { HF_RESTING, HF_TAKING, HF_GIVING };

struct hf_bundle {
    struct hf_lock      *self;
    struct hf_lock     **part;       /* sorted by name */
    bool                *any_thread; /* as they were */
    size_t               count;
    enum hf_bundle_phase phase;
    bool                 blocks;   /* a thread waits in a call */
    size_t               taken;    /* parts that are ours, from the first */
    size_t               wanted;   /* and those up to here are asked for */
    bool                 together; /* the store takes several places in one step */
    bool                 queued;   /* somebody was in the way this time */
    bool                 hopeful;  /* nobody was the last time */
    bool                 again;    /* GIVING: and begin anew */
    hf_time              deadline;
    bool                 once;
    int                  why;
    struct hf_lock      *culprit; /* the part that failed */
};

/* Of the handle itself. */
struct hf_bundle *hf_bundle_of(const struct hf_lock *lock);

/* All that follow: with the mutex held. */

/* Begin to take all; to give all back. */
void hf_bundle_take(struct hf_bundle *bundle, bool blocks, bool once, hf_time deadline);
void hf_bundle_give(struct hf_bundle *bundle, bool blocks);

/* Give the parts from the index `from` on up, the last one first.  Which thread may do so
 * the whole has checked. */
void hf_bundle_drop(struct hf_bundle *bundle, size_t from);

/* Take no more, for the reason `why`, unless there was a reason before. */
void hf_bundle_give_up(struct hf_bundle *bundle, int why);

/* Is there something for hf_bundle_step() to do?  Do it, until it has to wait or is at
 * rest: then `why` is how it went. */
bool hf_bundle_is_due(void *bundle);
void hf_bundle_step(struct hf_bundle *bundle);

/* Make a state visible; when it is idle the handle is free. */
void hf_bundle_show(struct hf_bundle *bundle, enum hf_state state, int why);

/* Have the parts tell us of their changes, or no more. */
void hf_bundle_listen(struct hf_bundle *bundle, bool on);

int hf_bundle_acquire_start(struct hf_lock *lock, int64_t timeout_ms);
int hf_bundle_release_start(struct hf_lock *lock);

#endif
