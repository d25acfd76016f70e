/* all_of_start.c - several locks as one, without blocking; see all_of.h.
 *
 * The hook of each member is called on its changes, and steps the set.
 */
#include "recipe/all_of.h"

/* Called by the keeper or in the caller's loop. */
static void hook(struct hf_lock *member, enum hf_state state, int why)
{
    struct hf_drive *drive = &member->client->drive;
    int              cancel = hf_drive_begin(drive);

    (void)state, (void)why;          /* the state may have changed since */
    if (member->member.hook == hook) /* else the set may be gone */
        hf_all_of_step(member->member.of);
    if (drive->posted)
        hf_drive_nudge(drive);
    hf_drive_end(drive, cancel);
}

void hf_all_of_listen(struct hf_all_of *set, bool on)
{
    for (size_t i = 0; i < set->count; i++)
        set->member[i]->member.hook = on ? hook : NULL;
}

int hf_all_of_acquire_start(struct hf_lock *lock, int64_t timeout_ms)
{
    struct hf_all_of *set = hf_all_of_of(lock);

    int r = hf_lock_take_for_nobody(lock);
    if (r < 0)
        return r;
    hf_all_of_take(set, false, timeout_ms == 0, hf_client_limit(timeout_ms).deadline);
    hf_drive_nudge(&lock->client->drive);
    return set->phase == HF_RESTING ? set->why : 0;
}

int hf_all_of_release_start(struct hf_lock *lock)
{
    int r = hf_lock_check_release(lock);

    if (r != 0)
        return r < 0 ? r : 0;
    hf_owner_move(lock, HF_OWNER_ENDING);
    hf_all_of_give(hf_all_of_of(lock), false);
    hf_drive_nudge(&lock->client->drive);
    return 0;
}
