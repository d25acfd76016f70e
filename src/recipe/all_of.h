/* all_of.h - several locks as one, shared by its three files: all_of.c has the calls
 * that block, all_of_start.c those that do not, and all_of_take.c decides for both what
 * comes next:
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

#include "client/handle/lock.h"

enum hf_all_of_phase { HF_RESTING, HF_TAKING, HF_GIVING };

struct hf_all_of {
    struct hf_lock      *self;
    struct hf_lock     **member;     /* sorted by name */
    bool                *any_thread; /* their own settings */
    size_t               count;
    enum hf_all_of_phase phase;
    bool                 blocks;   /* a thread waits for the result */
    size_t               taken;    /* how many members, from the first, are ours */
    size_t               wanted;   /* how many are ours or wanted */
    bool                 together; /* the store takes several places in one step */
    bool                 queued;   /* a member had to wait this time */
    bool                 hopeful;  /* none had to wait the last time */
    bool                 again;    /* GIVING: then start again */
    hf_time              deadline;
    bool                 once;
    int                  why;
    struct hf_lock      *failed; /* the member that failed */
};

/* The set behind a handle. */
struct hf_all_of *hf_all_of_of(const struct hf_lock *lock);

/* All that follow: with the mutex held. */

/* Begin to acquire all members; to release all. */
void hf_all_of_take(struct hf_all_of *set, bool blocks, bool once, hf_time deadline);
void hf_all_of_give(struct hf_all_of *set, bool blocks);

/* Release the members from the index `from` on, the last one first.  The caller has
 * checked that this thread may. */
void hf_all_of_drop(struct hf_all_of *set, size_t from);

/* Give up for the reason `why`, unless it was given up before. */
void hf_all_of_give_up(struct hf_all_of *set, int why);

/* Is there something for hf_all_of_step() to do?  step() does it, until it has to wait
 * or is at rest: then `why` is the result. */
bool hf_all_of_is_due(void *set);
void hf_all_of_step(struct hf_all_of *set);

/* Publish a state; an idle handle becomes free. */
void hf_all_of_publish(struct hf_all_of *set, enum hf_state state, int why);

/* Call hf_all_of_step() on every change of a member, or stop that. */
void hf_all_of_listen(struct hf_all_of *set, bool on);

int hf_all_of_acquire_start(struct hf_lock *lock, int64_t timeout_ms);
int hf_all_of_release_start(struct hf_lock *lock);

#endif
