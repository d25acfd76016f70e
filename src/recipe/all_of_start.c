/* all_of_start.c - several locks as one, without blocking; see all_of.h.
 *
 * Each part tells of its changes by its hook: then we look what comes next.
 */
#include "recipe/all_of.h"

/* From the keeper or the caller's loop. */
static void hook(struct hf_lock *part, enum hf_state state, int why)
{
    struct hf_drive *drive = &part->client->drive;
    int              cancel = hf_drive_begin(drive);

    (void)state, (void)why;      /* it may have changed again since */
    if (part->part.hook == hook) /* else nobody listens any more: the whole may be gone */
        hf_bundle_step(part->part.whole);
    if (drive->posted)
        hf_drive_nudge(drive);
    hf_drive_end(drive, cancel);
}

void hf_bundle_listen(struct hf_bundle *bundle, bool on)
{
    for (size_t i = 0; i < bundle->count; i++)
        bundle->part[i]->part.hook = on ? hook : NULL;
}

int hf_bundle_acquire_start(struct hf_lock *lock, int64_t timeout_ms)
{
    struct hf_bundle *bundle = hf_bundle_of(lock);

    int r = hf_lock_take_for_nobody(lock);
    if (r < 0)
        return r;
    hf_bundle_take(bundle, false, timeout_ms == 0, hf_client_limit(timeout_ms).deadline);
    hf_drive_nudge(&lock->client->drive);
    return bundle->phase == HF_RESTING ? bundle->why : 0;
}

int hf_bundle_release_start(struct hf_lock *lock)
{
    int r = hf_lock_check_release(lock);

    if (r != 0)
        return r < 0 ? r : 0;
    hf_owner_move(lock, HF_OWNER_ENDING);
    hf_bundle_give(hf_bundle_of(lock), false);
    hf_drive_nudge(&lock->client->drive);
    return 0;
}
