/* clock.h - the only file that reads a clock.
 *
 * Decisions are made on the boot-time clock: it never steps, and it counts
 * while the machine sleeps.  The wall clock is for people and for tokens.
 */
#ifndef HF_CLOCK_H
#define HF_CLOCK_H

#include <stdint.h>

typedef int64_t hf_time; /* nanoseconds of CLOCK_BOOTTIME */

#define HF_NEVER INT64_MAX
#define HF_MS    ((hf_time)1000000)
#define HF_SEC   ((hf_time)1000000000)

hf_time hf_now(void);

/* Microseconds since 1970, by the wall clock. */
int64_t hf_wall_us(void);

/* `base` plus the timeout of a public call: negative is for ever. */
hf_time hf_after_ms(hf_time base, int64_t timeout_ms);

static inline hf_time hf_sooner(hf_time a, hf_time b)
{
    return a < b ? a : b;
}

/* From now until `when` as poll(2) wants it: rounded up, -1 for HF_NEVER. */
int hf_poll_ms(hf_time now, hf_time when);

#endif
