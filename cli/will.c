/* will.c - see will.h. */
#include "will.h"

#include "clock.h"
#include "settle.h"

#include <assert.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A guardian is told a deadline only by who holds a lock.  For one that was killed while it
 * waited in line there is none: the usual lease, at the end of which its place is gone in
 * any case, is as long as it makes sense to try. */
#define SHORTEST_TRY_NS (15 * NS_PER_SEC)
#define LONGEST_TRY_NS  (300 * NS_PER_SEC)

/* ---- holdfast's end ------------------------------------------------------------ */

void will_hand_over(struct will *will)
{
    if (will != NULL && will->owed &&
        guard_tell_will(will->guard, will->bytes, will->size) == 0)
        will->owed = false;
}

void will_take(struct will *will, const void *bytes, size_t size)
{
    bool same = size == will->size && memcmp(bytes, will->bytes, size) == 0;

    if (same || size > sizeof will->bytes)
        return;
    memcpy(will->bytes, bytes, size);
    will->size = size;
    will->owed = true;
    will_hand_over(will);
}

void will_forget(struct will *will)
{
    explicit_bzero(will, sizeof *will);
}

/* ---- The end of the guardian, or of the warden ---------------------------------- */

int will_make_room(struct will_kept *kept)
{
    void *room = mmap(NULL, GUARD_WILL_MAX, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (room == MAP_FAILED)
        return -1;
    madvise(room, GUARD_WILL_MAX, MADV_DONTDUMP);
    madvise(room, GUARD_WILL_MAX, MADV_WIPEONFORK);
    *kept = (struct will_kept){ .bytes = room };
    return 0;
}

static int64_t time_to_try_ns(int64_t deadline)
{
    int64_t left = deadline == INT64_MAX ? 0 : deadline - clock_boot_ns();

    return left < SHORTEST_TRY_NS  ? SHORTEST_TRY_NS
           : left > LONGEST_TRY_NS ? LONGEST_TRY_NS
                                   : left;
}

void will_execute(struct will_kept *kept, int64_t deadline)
{
    assert(kept->size <= GUARD_WILL_MAX);
    if (kept->size == 0)
        return;
    settle_stdio(STDIN_FILENO, STDERR_FILENO);
    settle_calm();
    int r = hf_execute(kept->bytes, kept->size, time_to_try_ns(deadline) / NS_PER_MS,
                       NULL, 0);
    (void)r; /* if it failed, the lease ends the session */
    explicit_bzero(kept->bytes, kept->size);
    kept->size = 0;
}
