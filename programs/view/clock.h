/* clock.h - the clock for deadlines, which never steps and counts while the machine sleeps;
 * and the time of day. */
#ifndef CLOCK_H
#define CLOCK_H

#include <stdint.h>

#define NS_PER_MS  ((int64_t)1000000)
#define NS_PER_SEC ((int64_t)1000000000)

/* Nanoseconds of CLOCK_BOOTTIME. */
int64_t clock_boot_ns(void);

/* The earlier of two timeouts of poll(), in milliseconds; negative is never. */
int clock_sooner(int a, int b);

/* Microseconds since 1970, for ages shown to people. */
int64_t clock_wall_us(void);

#endif
