/* all_of.h - several locks as one, between the files that make it.
 *
 * all_of.c makes it and blocks; all_of_start.c goes on without blocking:
 *
 *     RESTING --start--> TAKING --last one held--> RESTING (held)
 *                          \----one failed----v
 *     RESTING (held) --start--> GIVING --last one idle--> RESTING (idle)
 */
#ifndef HF_ALL_OF_H
#define HF_ALL_OF_H

#include "client/lock.h"

enum hf_bundle_phase { HF_RESTING, HF_BLOCKING, HF_TAKING, HF_GIVING };

struct hf_bundle {
    struct hf_lock      *self;
    struct hf_lock     **part;       /* sorted by name */
    bool                *any_thread; /* as they were */
    size_t               count;
    enum hf_bundle_phase phase;
    size_t               taken; /* parts that are ours, from the first */
    hf_time              deadline;
    bool                 once;
    int                  why;
};

struct hf_bundle *hf_bundle_of(const struct hf_lock *lock);

/* Make a state visible; an idle one gives the handle back. */
void hf_bundle_show(struct hf_bundle *bundle, enum hf_state state, int why);

/* What is left of the time, as hf_acquire() wants it; false: nothing.  Zero would
 * be a try, which waits for a slow store as long as it likes. */
bool hf_bundle_time_left(const struct hf_bundle *bundle, int64_t *ret);

/* Let the parts tell us how they fare, or no more. */
void hf_bundle_listen(struct hf_bundle *bundle, bool on);

int hf_bundle_acquire_start(struct hf_lock *lock, int64_t timeout_ms);
int hf_bundle_release_start(struct hf_lock *lock);

#endif
