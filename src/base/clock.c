/* clock.c - see clock.h. */
#include "base/clock.h"

#include <limits.h>
#include <time.h>

static int64_t read_clock(clockid_t id, int64_t per_second)
{
    struct timespec t;

    clock_gettime(id, &t);
    return t.tv_sec * per_second + t.tv_nsec / (1000000000 / per_second);
}

hf_time hf_now(void)
{
    return read_clock(CLOCK_BOOTTIME, 1000000000);
}

int64_t hf_wall_us(void)
{
    return read_clock(CLOCK_REALTIME, 1000000);
}

hf_time hf_after_ms(hf_time base, int64_t timeout_ms)
{
    if (timeout_ms < 0 || timeout_ms > (HF_NEVER - base) / HF_MS)
        return HF_NEVER;
    return base + timeout_ms * HF_MS;
}

int hf_poll_ms(hf_time now, hf_time when)
{
    if (when == HF_NEVER)
        return -1;
    if (when <= now)
        return 0;

    hf_time left = when - now;
    hf_time ms = left / HF_MS + (left % HF_MS != 0);
    return ms < INT_MAX ? (int)ms : INT_MAX;
}
