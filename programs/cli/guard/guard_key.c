/* guard_key.c - see guard_key.h. */
#include "guard/guard_key.h"

#include "clock.h"
#include "guard/settle.h"

#include <assert.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A holder sends its guardian a deadline; a waiter has none.  If a waiter was killed, it
 * is useless to retry for longer than the usual lease: by then its place is gone. */
#define SHORTEST_TRY_NS (15 * NS_PER_SEC)
#define LONGEST_TRY_NS  (300 * NS_PER_SEC)

/* ---- holdfast's end ------------------------------------------------------------ */

void guard_key_send(struct guard_key *key)
{
    if (key != NULL && key->owed &&
        guard_tell_key(key->guard, key->bytes, key->size) == 0)
        key->owed = false;
}

void guard_key_set(struct guard_key *key, const void *bytes, size_t size)
{
    bool same = size == key->size && memcmp(bytes, key->bytes, size) == 0;

    if (same || size > sizeof key->bytes)
        return;
    memcpy(key->bytes, bytes, size);
    key->size = size;
    key->owed = true;
    guard_key_send(key);
}

void guard_key_forget(struct guard_key *key)
{
    explicit_bzero(key, sizeof *key);
}

/* ---- The guardian's end ------------------------------------------------------------ */

int kept_key_init(struct kept_key *kept)
{
    void *room = mmap(NULL, GUARD_KEY_MAX, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (room == MAP_FAILED)
        return -1;
    madvise(room, GUARD_KEY_MAX, MADV_DONTDUMP);
    madvise(room, GUARD_KEY_MAX, MADV_WIPEONFORK);
    *kept = (struct kept_key){ .bytes = room };
    return 0;
}

static int64_t time_to_try_ns(int64_t deadline)
{
    int64_t left = deadline == INT64_MAX ? 0 : deadline - clock_boot_ns();

    return left < SHORTEST_TRY_NS  ? SHORTEST_TRY_NS
           : left > LONGEST_TRY_NS ? LONGEST_TRY_NS
                                   : left;
}

void kept_key_end_session(struct kept_key *kept, int64_t deadline)
{
    assert(kept->size <= GUARD_KEY_MAX);
    if (kept->size == 0)
        return;
    settle_stdio(STDIN_FILENO, STDERR_FILENO);
    settle_calm();
    int r = hf_end_session(kept->bytes, kept->size, time_to_try_ns(deadline) / NS_PER_MS,
                           NULL, 0);
    (void)r; /* if it failed, the lease ends the session */
    explicit_bzero(kept->bytes, kept->size);
    kept->size = 0;
}
