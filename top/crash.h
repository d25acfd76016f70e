/* crash.h - a crash leaves the terminal as it was, too.
 *
 * The handlers do what may be done in one: write what was prepared, set the terminal, and
 * die of the same signal.  Where somebody has a handler already, as sanitizers do, there is
 * none of ours.
 */
#ifndef CRASH_H
#define CRASH_H

/* Remember how the terminal is. */
void crash_prepare(int fd);

/* From now on; what a terminal needs to be plain again, or NULL. */
void crash_arm(const char *plain, const char *cursor, const char *keypad,
               const char *screen);
void crash_disarm(void);

#endif
