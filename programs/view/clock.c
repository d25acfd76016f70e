/* clock.c - see clock.h. */
#include "clock.h"

#include <assert.h>
#include <time.h>

static struct timespec read_clock(clockid_t clock)
{
    struct timespec now;
    int             r = clock_gettime(clock, &now);

    assert(r == 0);
    (void)r;
    return now;
}

int64_t clock_boot_ns(void)
{
    struct timespec now = read_clock(CLOCK_BOOTTIME);

    return (int64_t)now.tv_sec * NS_PER_SEC + now.tv_nsec;
}

int64_t clock_wall_us(void)
{
    struct timespec now = read_clock(CLOCK_REALTIME);

    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int clock_sooner(int a, int b)
{
    return a < 0 ? b : b < 0 || a < b ? a : b;
}
