/* session_deadline.c - until when a lock is surely held; see session.h. */
#include "clock.h"
#include "session.h"

/* Deadlines are rounded to milliseconds: a smaller step is no change. */
#define DEADLINE_STEP_NS (2 * NS_PER_MS)

/* The clock is read first: a delay between the two makes the deadline earlier, not
 * later. */
int64_t session_deadline(const struct hf_lock *lock)
{
    int64_t now = clock_boot_ns();
    int64_t left = hf_left_ms(lock);

    return left == INT64_MAX ? INT64_MAX : now + left * NS_PER_MS;
}

bool session_deadline_moved(int64_t from, int64_t to)
{
    return (from > to ? from - to : to - from) > DEADLINE_STEP_NS;
}
